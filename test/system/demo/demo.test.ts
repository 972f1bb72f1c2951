import { setMaxListeners } from 'node:events';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CometUsers } from '../../../src/demo/comet-users.ts';
import { SampleControlSystem } from '../../../src/demo/control-system.ts';
import { SAMPLE_BROWSERS } from '../../../src/demo/plant.ts';
import { SampleUsers } from '../../../src/demo/users.ts';

let system: SampleControlSystem;
let port: number;

beforeEach(async () => {
  system = new SampleControlSystem({ slowness: 0 });
  port = await system.start(0);
});

afterEach(() => system.stop());

const urlOf = (at: number) => `http://127.0.0.1:${at}/smartWeb`;

it('the sample users log in, work, and stop at once on the signal, without counting what was cut as unanswered', async () => {
  // It answers no call in time.
  const slow = new SampleControlSystem({ slowness: 1_000 });
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  const fast = new SampleUsers({ baseUrl: urlOf(port), pauseMs: 0 });
  await fast.open(stopping.signal);
  expect(fast.counts).toEqual({ answered: 20, byStatus: { 200: 20 }, unanswered: 0 });
  const cut = new SampleUsers({ baseUrl: urlOf(await slow.start(0)), pauseMs: 0 });
  const done = [fast, cut].map((users) => users.run(stopping.signal));
  while (fast.counts.answered < 500) await new Promise((resolve) => setImmediate(resolve));
  stopping.abort();
  await Promise.all(done);
  expect(Object.keys(fast.counts.byStatus)).toEqual(['200', '404', '500']);
  expect([fast.counts.unanswered, cut.counts.unanswered]).toEqual([0, 0]);
  await slow.stop();
});

it('the browsers of the demo use both transports, survive a restart of the server, and leave on the signal', async () => {
  expect(new Set(SAMPLE_BROWSERS.map(({ transport }) => transport))).toEqual(new Set(['websocket', 'long-polling']));
  const leaving = new AbortController();
  setMaxListeners(0, leaving.signal);
  const users = new CometUsers({ baseUrl: urlOf(port), pauseMs: 0 });
  const working = users.run(leaving.signal);
  await users.opened;
  expect(users.values).toBeGreaterThanOrEqual(SAMPLE_BROWSERS.length);
  await system.stop();
  const before = users.values;
  system = new SampleControlSystem({ slowness: 0 });
  await system.start(port);
  while (users.values < before + 2 * SAMPLE_BROWSERS.length) await new Promise((resolve) => setImmediate(resolve));
  leaving.abort();
  await working;
});
