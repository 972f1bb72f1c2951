/** The cost of a line of the access log, 1,000 in each iteration: `npx vitest bench --run test/bench/access-log.bench.ts`. */
import { bench, describe } from 'vitest';
import { toAccessLine } from '../../src/export/access-log/access-line.ts';
import { endedCall } from '../support/export/access-log/ended-call.ts';

const CALLS = 1_000;

describe('a line', () => {
  const call = endedCall();
  const time = '2026-03-01T08:00:00.123Z';
  bench('written by hand', () => {
    for (let i = 0; i < CALLS; i += 1) toAccessLine(call, time, true);
  });
  bench('of an object, by JSON.stringify', () => {
    for (let i = 0; i < CALLS; i += 1) {
      const { kind, name, application, status, outcome, requestBytes, responseBytes, remoteAddress, session } = call;
      const duration = (call.endedNs - call.beganNs) / 1e9;
      const more = { requestBytes, responseBytes, session: session?.id, user: session?.userName, remoteAddress };
      const fields = { time, kind, name, application, over: 'http', method: call.method, status, outcome, error: null };
      JSON.stringify({ ...fields, duration, ...more, trace: null });
    }
  });
});
