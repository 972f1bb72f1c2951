/**
 * The cost of the access log per call, for 1,000 exchanges in each iteration: `npx vitest bench --run test/bench/access-log.bench.ts`. A mean
 * of 1.5 ms is 1.5 µs for a call. The first row is without a log, the second with one that takes no call; lines go to /dev/null.
 */
import { bench, describe } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { toAccessLine } from '../../src/export/access-log/access-line.ts';
import { AccessLogging } from '../../src/export/access-log/access-logging.ts';
import { createRecorder } from '../../src/measure/record/create-recorder.ts';
import { parseRequestHead } from '../../src/protocol/http1/request-head.ts';
import { COMPLETED } from '../../src/proxy/exchange/exchange.ts';
import { ExchangeReporter } from '../../src/proxy/exchange/exchange-reporter.ts';
import { endedCall } from '../support/export/access-log/ended-call.ts';
import { testConfig } from '../support/wire/test-config.ts';

const CALLS = 1_000;
const CLIENT = { remoteAddress: '10.0.0.7', remotePort: 50_412, secure: false };
const silent = () => undefined;
const LOGGER = { debug: silent, info: silent, warn: silent, error: silent };
const HEAD = Buffer.from(
  'POST /smartWeb/api/rest/v0/d2/rpc/E.Demo/TestInOut HTTP/1.1\r\nHost: plant\r\nAuthorization: Basic YW5uYTpwYXNz\r\n' +
    'Content-Type: application/json\r\nContent-Length: 20\r\nAccept: */*\r\nUser-Agent: a client\r\n\r\n',
);
const BODY = Buffer.alloc(20, 'x');
const ANSWER = Buffer.alloc(300, 'y');

async function createCalls(accessLog: Partial<ReturnType<typeof testConfig>['accessLog']>): Promise<() => void> {
  const recorder = createRecorder(testConfig(), systemClock);
  const parts = { clock: systemClock, logger: LOGGER, observers: recorder.observers };
  await AccessLogging.open({ ...testConfig().accessLog, ...accessLog }, parts);
  const reporter = new ExchangeReporter(systemClock, recorder, LOGGER);
  return () => {
    for (let i = 0; i < CALLS; i += 1) {
      const head = parseRequestHead(HEAD.toString('latin1'));
      if (typeof head === 'string') throw new Error('the head is irregular');
      const exchange = reporter.begin(head, CLIENT, 'relay');
      exchange.status = 200;
      reporter.requestBytes(exchange, BODY);
      reporter.responseBytes(exchange, ANSWER);
      reporter.end(exchange, COMPLETED);
    }
  };
}

const file = '/dev/null';
const [off, none, all] = await Promise.all([{}, { file, sample: 0 }, { file }].map(createCalls));

describe('a call', () => {
  bench('without an access log', () => off?.());
  bench('with one that takes no call', () => none?.());
  // The event loop must turn for lines to be written; otherwise they are lost, which is cheaper.
  bench('with one that takes all', async () => {
    all?.();
    await new Promise((resolve) => setImmediate(resolve));
  });
});

describe('a line', () => {
  const call = endedCall();
  const time = '2026-03-01T08:00:00.123Z';
  bench('written by hand', () => {
    for (let i = 0; i < CALLS; i += 1) toAccessLine(call, time, true);
  });
  bench('of an object, by JSON.stringify', () => {
    for (let i = 0; i < CALLS; i += 1) {
      const { kind, name, application, status, outcome, requestBytes, responseBytes, path, remoteAddress, session } =
        call;
      const duration = (call.endedNs - call.beganNs) / 1e9;
      const more = { requestBytes, responseBytes, path, session: session?.id, user: session?.userName, remoteAddress };
      const fields = { time, kind, name, application, over: 'http', method: call.method, status, outcome, error: null };
      JSON.stringify({ ...fields, duration, ...more, trace: null });
    }
  });
});
