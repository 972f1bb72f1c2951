/** Files of versions with other fields, made by changing a file of this version. */
import { readFileSync, writeFileSync } from 'node:fs';
import { beforeEach, expect, it } from 'vitest';
import { BASE, CANCELLED, FAILED, RPC } from '../../support/measure/record/traffic.ts';
import { type Life, StateFolder } from '../../support/state/restart.ts';
import { encodeRecords, recordsOf } from '../../support/state/state-records.ts';
import { shownOf } from './recorded.ts';

type Fields = Record<string, unknown>;

const folder = new StateFolder().forTests();
let before: Life;

beforeEach(async () => {
  before = await folder.start();
  const { traffic, keeper } = before;
  traffic.send({ line: RPC, user: 'ann' }, { afterMs: 12 });
  traffic.send({ line: RPC, user: 'ann' }, { ending: FAILED });
  traffic.send({ line: RPC, user: 'ann' }, { ending: CANCELLED });
  traffic.send({ line: `GET ${BASE}/d2/sba/E.Demo/Read`, apiKey: 'key-1' }, { afterMs: 3 });
  traffic.send({ line: `GET ${BASE}/d2/object/H.Pump`, user: 'ann' });
  traffic.login('bob', {}, { setCookie: 'one' });
  traffic.handshake('client1', { cookie: 'one' });
  traffic.subscribe('client1', ['/d2/object/H.Boiler', '/d2/object/H.Pump'], { cookie: 'one' });
  traffic.release(traffic.hold('client1', { cookie: 'one' }), [{ channel: '/d2/object/H.Boiler', data: { value: 1 } }]);
  await keeper.save();
});

/** Starts with the file after each of its records, or each object in it, was changed by `change`. */
async function startWith(change: (record: Fields) => void, more: readonly Fields[] = []): Promise<Life> {
  const [header, ...records] = recordsOf(readFileSync(folder.file));
  for (const record of records) change(record);
  writeFileSync(folder.file, encodeRecords([header, ...records, ...more]), { mode: 0o600 });
  const life = await folder.start(before.traffic.clock.epochMs());
  expect(life.keeper.restored).toBe('restored');
  return life;
}

it('a file without fields that came later is restored: these have their defaults', async () => {
  const { traffic } = await startWith((record) => {
    for (const field of ['timer', 'errorRates', 'outcomes', 'unnamed']) delete record[field];
    if (record.record === 'recorder') {
      delete record.comet;
      delete (record.own as Fields).aborted;
    }
    if (record.record !== 'session') return;
    delete record.remoteAddress;
    for (const one of (record.statistics ?? []) as Fields[]) delete one.timer;
  });
  expect(traffic.counts()).toMatchObject({ rpc: 1, 'rpc.E.Demo.TestInOut': 1, sba: 1, 'object.newValues': 2 });
  expect(traffic.sessions()).toContainEqual(expect.objectContaining({ userName: 'ann', remoteAddress: '' }));
  expect(traffic.recorder.own).toMatchObject({ aborted: { rpc: 0 }, unanswered: { rpc: 1 } });
  expect(traffic.numbers.holds.ended).toEqual({ delivery: 0, empty: 0, broken: 0 });
});

it('a file with fields and records that this version does not know is restored without them', async () => {
  const { traffic } = await startWith(
    (record) => {
      record.colour = { of: ['the', 'plant'] };
      if (record.record === 'recorder') (record.own as Fields).overtaken = 7;
    },
    [{ record: 'forecast', at: 12 }],
  );
  expect(shownOf(traffic)).toEqual(shownOf(before.traffic));
});

it('a file changes no object of this process, whatever its fields are called', async () => {
  const text = '{"record":"recorder","__proto__":{"taken":1},"constructor":{"prototype":{"taken":2}}}';
  await startWith(
    (record) => Object.assign(record, { '__proto__.taken': 1 }),
    [JSON.parse(text.replace('recorder', 'x'))],
  );
  expect(({} as Fields).taken).toBeUndefined();
});
