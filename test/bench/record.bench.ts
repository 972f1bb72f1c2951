/**
 * The cost of observing, for 1,000 exchanges in each iteration: `npx vitest bench --run test/bench/record.bench.ts`. A mean of
 * 1.5 ms is 1.5 µs for an exchange. Heads come fresh from their bytes, as in production: a string that was hashed before would
 * make every map look faster. So subtract the first row, which only reads heads.
 */
import { bench, describe } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { Classifier } from '../../src/measure/classify/classifier.ts';
import { Recorder } from '../../src/measure/record/recorder.ts';
import { type Http1RequestHead, parseRequestHead } from '../../src/protocol/http1/request-head.ts';
import { COMPLETED, Exchange, type ExchangeObserver } from '../../src/proxy/exchange/exchange.ts';
import { testConfig } from '../support/wire/test-config.ts';

const CALLS = 1_000;
const BASE = '/smartWeb/api/rest/v0';
const CLIENT = { remoteAddress: '10.0.0.7', remotePort: 50_412, secure: false };
const CONFIG = testConfig();
const recorder = new Recorder(CONFIG, systemClock);
const classifier = new Classifier(CONFIG);

function headsOf(toLine: (i: number) => string, toFields: (i: number) => string = () => ''): Buffer[] {
  return Array.from({ length: CALLS }, (_, i) =>
    Buffer.from(
      `${toLine(i)} HTTP/1.1\r\nHost: plant.example\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n` +
        `Content-Type: application/json\r\n${toFields(i)}Content-Length: 2\r\n\r\n`,
      'latin1',
    ),
  );
}

function read(bytes: Buffer): Http1RequestHead {
  const head = parseRequestHead(bytes.toString('latin1'));
  if (typeof head === 'string') throw new Error(head);
  return head;
}

function observe(heads: readonly Buffer[], observer: ExchangeObserver): void {
  for (const bytes of heads) {
    const head = read(bytes);
    const exchange = new Exchange(head.method, CLIENT, systemClock.nowNs());
    observer.onBegin(exchange, head);
    exchange.status = 200;
    exchange.markEnded(systemClock.nowNs());
    observer.onEnd(exchange, COMPLETED);
  }
}

const basic = (user: string): string =>
  `Authorization: Basic ${Buffer.from(`${user}:passw0rd`).toString('base64')}\r\n`;
const toRpc = (i: number): string => `POST ${BASE}/d2/rpc/E.SmartWebApiTutorial/TestInOut${i % 10}?x=${i}`;

const anonymous = headsOf(toRpc);
const ofUsers = headsOf(toRpc, (i) => basic(`user-${i % 50}`));
const ofKeys = headsOf(toRpc, (i) => `X-API-Key: 0123456789abcdef-${i % 50}\r\n`);
const pages = headsOf((i) => `GET /smartWeb/scripts/application-${i}.js`);
const odd = headsOf((i) => `POST ${BASE}/d2/../d2//rpc/E.Smart%57ebApiTutorial/TestInOut${i % 10};jsessionid=${i}`);
let scanned = 0;

const NOTHING: ExchangeObserver = { onBegin: () => {}, onEnd: () => {} };

describe('1,000 exchanges', () => {
  bench('heads and clock only', () => observe(anonymous, NOTHING));
  bench('a call without credentials', () => observe(anonymous, recorder));
  bench('a call of a session by Basic', () => observe(ofUsers, recorder));
  bench('a call of a session by X-API-Key', () => observe(ofKeys, recorder));
  bench('a page that is no call', () => observe(pages, recorder));
});

describe('1,000 classifications', () => {
  const classify = (heads: readonly Buffer[]): void => {
    for (const bytes of heads) {
      const { method, target } = read(bytes);
      classifier.classify(method, target);
    }
  };
  bench('heads only', () => {
    for (const bytes of anonymous) read(bytes);
  });
  bench('remembered', () => classify(anonymous));
  bench('remembered, but with dot segments, escapes and a parameter', () => classify(odd));
  bench('no call', () => classify(pages));
  bench('never seen', () => {
    for (let i = 0; i < CALLS; i += 1) classifier.classify('POST', `${BASE}/d2/rpc/E.Scan/M${scanned++}`);
  });
});
