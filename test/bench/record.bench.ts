/**
 * The cost of classifying requests, 1,000 in each iteration: `npx vitest bench --run test/bench/record.bench.ts`. A mean of
 * 1.5 ms is 1.5 µs for a request. Heads come fresh from their bytes, as in production: a string that was hashed before would
 * make every map look faster. So subtract the first row, which only reads heads.
 */
import { bench, describe } from 'vitest';
import { Classifier } from '../../src/measure/classify/classifier.ts';
import { type Http1RequestHead, parseRequestHead } from '../../src/protocol/http1/request-head.ts';
import { testConfig } from '../support/wire/test-config.ts';

const CALLS = 1_000;
const BASE = '/smartWeb/api/rest/v0';
const classifier = new Classifier(testConfig());

function headsOf(toLine: (i: number) => string): Buffer[] {
  const fields = 'Host: plant.example\r\nUser-Agent: curl/8.5.0\r\nContent-Type: application/json\r\nContent-Length: 2';
  return Array.from({ length: CALLS }, (_, i) => Buffer.from(`${toLine(i)} HTTP/1.1\r\n${fields}\r\n\r\n`, 'latin1'));
}

function read(bytes: Buffer): Http1RequestHead {
  const head = parseRequestHead(bytes.toString('latin1'));
  if (typeof head === 'string') throw new Error(head);
  return head;
}

const calls = headsOf((i) => `POST ${BASE}/d2/rpc/E.SmartWebApiTutorial/TestInOut${i % 10}?x=${i}`);
const pages = headsOf((i) => `GET /smartWeb/scripts/application-${i}.js`);
const odd = headsOf((i) => `POST ${BASE}/d2/../d2//rpc/E.Smart%57ebApiTutorial/TestInOut${i % 10};jsessionid=${i}`);
let scanned = 0;

describe('1,000 classifications', () => {
  const classify = (heads: readonly Buffer[]): void => {
    for (const bytes of heads) {
      const { method, target } = read(bytes);
      classifier.classify(method, target);
    }
  };
  bench('heads only', () => {
    for (const bytes of calls) read(bytes);
  });
  bench('remembered', () => classify(calls));
  bench('remembered, but with dot segments, escapes and a parameter', () => classify(odd));
  bench('no call', () => classify(pages));
  bench('never seen', () => {
    for (let i = 0; i < CALLS; i += 1) classifier.classify('POST', `${BASE}/d2/rpc/E.Scan/M${scanned++}`);
  });
});
