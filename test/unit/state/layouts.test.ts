/**
 * A file of each released layout, as its version wrote it. Write the one of a new layout once, when it is made:
 * `D2_WRITE_FIXTURE=1 npx vitest run test/unit/state/layouts.test.ts`.
 */
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LAYOUT } from '../../../src/state/state-file.ts';
import { BASE, CANCELLED, FAILED, RPC } from '../../support/measure/record/traffic.ts';
import { type Life, StateFolder } from '../../support/state/restart.ts';
import { recordsOf, toText } from '../../support/state/state-text.ts';

const fixture = (name: string) => new URL(`../../fixtures/state/${name}`, import.meta.url);
const CURRENT = fixture(`layout-${LAYOUT}.state`);
const SOON_AFTER = Date.UTC(2026, 2, 1, 8, 1);

type Fields = Record<string, unknown>;

let folder: StateFolder;
beforeEach(() => {
  folder = new StateFolder();
});
afterEach(() => folder.remove());

function live({ traffic }: Life): void {
  traffic.send({ line: RPC, user: 'ann' }, { afterMs: 12 });
  traffic.send({ line: RPC, user: 'ann' }, { ending: FAILED });
  traffic.send({ line: RPC, user: 'ann' }, { ending: CANCELLED });
  traffic.send({ line: `GET ${BASE}/d2/sba/E.Demo/Read`, apiKey: 'key-1' }, { afterMs: 3 });
  traffic.send({ line: `GET ${BASE}/d2/object/H.Pump`, user: 'ann' });
  traffic.login('bob', {}, { setCookie: 'one' });
  traffic.handshake('client1', { cookie: 'one' });
  traffic.subscribe('client1', ['/d2/object/H.Boiler', '/d2/object/H.Pump'], { cookie: 'one' });
  traffic.send({ line: RPC, user: 'cyril', fields: { cookie: 'JSESSIONID=two' } });
  traffic.handshake('client2', { cookie: 'three', user: 'dora' });
  traffic.clock.advanceMs(20_000);
  traffic.release(traffic.hold('client1', { cookie: 'one' }), [{ channel: '/d2/object/H.Boiler', data: { value: 1 } }]);
}

it.runIf(process.env.D2_WRITE_FIXTURE === '1')('the file of this layout is written', async () => {
  const life = await folder.start();
  live(life);
  await life.keeper.save();
  copyFileSync(folder.file, CURRENT);
});

/** Expects what `live` has counted. */
async function expectTakenUp(): Promise<Life> {
  const life = await folder.start(SOON_AFTER);
  const { keeper, traffic } = life;
  expect(keeper.restored).toBe('restored');
  expect(traffic.counts()).toEqual({
    ...{ rpc: 2, 'rpc.E.Demo.TestInOut': 2, 'rpc.errors': 1, 'rpc.E.Demo.TestInOut.errors': 1 },
    ...{ sba: 1, 'sba.E.Demo.Read': 1 },
    ...{ 'object.newValues': 2, 'object.H.Pump.newValues': 1, 'object.H.Boiler.newValues': 1 },
  });
  expect(traffic.users()).toEqual(['ann 4', 'null 1', 'bob 0', 'cyril 1, unverified', 'dora 0, unverified']);
  expect(traffic.gauges()).toEqual({ active: 5, monitored: 2, subscriptions: 2 });
  return life;
}

describe.each([3, LAYOUT])('a file of layout %d', (layout) => {
  const written = fixture(`layout-${layout}.state`);

  it('is taken up by this version', async () => {
    copyFileSync(written, folder.file);
    const { traffic } = await expectTakenUp();
    expect(traffic.application().statistics.rpc.metrics().timers.get('rpc')?.snapshot()).toMatchObject({ max: 12e6 });
    expect(traffic.numbers.holds.ended).toEqual({ delivery: 1, empty: 0, broken: 0 });
    traffic.send({ line: RPC, apiKey: 'key-1' });
    expect(traffic.sessions()).toHaveLength(5);
  });

  /** The file with each record, or each object in it, changed by `change`. */
  function writeChanged(change: (record: Fields) => void, more: readonly Fields[] = []): void {
    const [header, ...records] = recordsOf(readFileSync(written, 'utf8'));
    for (const record of records) change(record);
    writeFileSync(folder.file, toText([header, ...records, ...more]), { mode: 0o600 });
  }

  it('of an older version, without fields that came later, is taken up: these have their defaults', async () => {
    writeChanged((record) => {
      for (const field of ['timer', 'errorRates', 'outcomes', 'unnamed']) delete record[field];
      if (record.record === 'recorder') {
        delete record.comet;
        delete (record.own as Fields).aborted;
      }
      if (record.record !== 'session') return;
      delete record.remoteAddress;
      for (const one of (record.statistics ?? []) as Fields[]) delete one.timer;
    });
    const { keeper, traffic } = await folder.start(SOON_AFTER);
    expect(keeper.restored).toBe('restored');
    expect(traffic.counts()).toMatchObject({ rpc: 2, 'rpc.E.Demo.TestInOut': 2, sba: 1, 'object.newValues': 2 });
    expect(traffic.sessions()).toContainEqual(expect.objectContaining({ userName: 'ann', remoteAddress: '' }));
    expect(traffic.recorder.own.read()).toMatchObject({ aborted: { rpc: 0 }, unanswered: { rpc: 1 } });
    expect(traffic.numbers.holds.ended).toEqual({ delivery: 0, empty: 0, broken: 0 });
  });

  it('of a newer version, with fields and records that this one does not know, is taken up without them', async () => {
    writeChanged(
      (record) => {
        record.colour = { of: ['the', 'plant'] };
        if (record.record === 'recorder') (record.own as Fields).overtaken = 7;
      },
      [{ record: 'forecast', at: 12 }],
    );
    await expectTakenUp();
  });
});

it('a file of layout 3 is saved in the current layout, with the same records', async () => {
  copyFileSync(fixture('layout-3.state'), folder.file);
  const { keeper } = await folder.start(SOON_AFTER);
  await keeper.save();
  const [header, ...records] = recordsOf(readFileSync(folder.file, 'utf8'));
  const [, ...before] = recordsOf(readFileSync(fixture('layout-3.state'), 'utf8'));
  expect(header.layout).toBe(LAYOUT);
  const kindsOf = (of: typeof records) => of.map(({ record, name }) => `${record} ${name ?? ''}`);
  expect(kindsOf(records)).toEqual(kindsOf(before));
});

it('a file of the binary layout of 0.1.0 is kept aside, and counting starts anew', async () => {
  copyFileSync(fixture('format-2.state'), folder.file);
  const { keeper, log, traffic } = await folder.start(SOON_AFTER);
  expect(keeper.restored).toBe('older');
  expect(log[0]?.[1].why).toBe('it has an older layout, and this sidecar reads layouts 3 and 4');
  expect(existsSync(`${folder.file}.refused-older`)).toBe(true);
  expect(traffic.counts()).toEqual({});
});
