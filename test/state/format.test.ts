/**
 * A file that was written when format 2 came to be: as long as `FORMAT_VERSION` is 2, every sidecar takes it up. Whoever changes the
 * form of anything that is saved counts the version up and writes another one: `D2_WRITE_FIXTURE=1 npx vitest run test/state/format.test.ts`.
 */
import { copyFileSync } from 'node:fs';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { initMetrics } from '../../src/metrics/histogram-pool.ts';
import { FORMAT_VERSION } from '../../src/state/state-format.ts';
import { BASE, CANCELLED, FAILED, RPC } from '../measure/record/traffic.ts';
import { type Life, StateFolder } from './restart.ts';

const FIXTURE = new URL(`../fixtures/state/format-${FORMAT_VERSION}.state`, import.meta.url);

beforeAll(initMetrics);

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

it.runIf(process.env.D2_WRITE_FIXTURE === '1')('is written anew', async () => {
  const life = await folder.start();
  live(life);
  await life.keeper.save();
  copyFileSync(folder.file, FIXTURE);
});

it('of the file that was written first is still that of this version', async () => {
  copyFileSync(FIXTURE, folder.file);
  const { keeper, traffic } = await folder.start(Date.UTC(2026, 2, 1, 8, 1));
  expect(keeper.restored).toBe('restored');
  expect(traffic.counts()).toEqual({
    ...{ rpc: 2, 'rpc.E.Demo.TestInOut': 2, 'rpc.errors': 1, 'rpc.E.Demo.TestInOut.errors': 1 },
    ...{ sba: 1, 'sba.E.Demo.Read': 1 },
    ...{ 'object.newValues': 2, 'object.H.Pump.newValues': 1, 'object.H.Boiler.newValues': 1 },
  });
  expect(traffic.sessions().map(({ userName, requests, verified }) => [userName, requests, verified])).toEqual([
    ['ann', 4, undefined],
    [null, 1, undefined],
    ['bob', 0, undefined],
    ['cyril', 1, false],
    ['dora', 0, false],
  ]);
  expect(traffic.gauges()).toEqual({ active: 5, monitored: 2, subscriptions: 2 });
  expect(traffic.application().statistics.rpc.metrics().timers.get('rpc')?.snapshot()).toMatchObject({ max: 12e6 });
  expect(traffic.numbers.holds.ended).toEqual({ delivery: 1, empty: 0, broken: 0 });
  traffic.send({ line: RPC, apiKey: 'key-1' });
  expect(traffic.sessions()).toHaveLength(5);
});
