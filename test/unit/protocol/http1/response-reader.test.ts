import { afterEach, expect, it, vi } from 'vitest';
import {
  parseResponseHead,
  type ResponseProgress,
  ResponseReader,
} from '../../../../src/protocol/http1/response-reader.ts';

import { countCopied } from '../../../support/protocol/count-copied.ts';

const MAX_HEAD_BYTES = 1024;

afterEach(() => {
  vi.restoreAllMocks();
});

const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
const INTERIM = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 P\r\n\r\n';

interface Followed {
  readonly passed: string;
  readonly last: ResponseProgress;
  readonly status: number | undefined;
}

/** Reads `text` in two pieces through memory that is overwritten after each read, as the relay's is. */
function follow(method: string, text: string, split: number): Followed {
  const reader = new ResponseReader(MAX_HEAD_BYTES);
  reader.begin(method);
  const memory = Buffer.alloc(4096);
  let passed = '';
  let last: ResponseProgress = 'more';
  for (const piece of [text.slice(0, split), text.slice(split)]) {
    if (last !== 'more' || piece === '') continue;
    memory.fill('#');
    memory.write(piece, 'latin1');
    last = reader.read(memory, piece.length);
    passed += reader.bytes.toString('latin1', 0, reader.end);
  }
  return { passed, last, status: reader.head?.status };
}

function readWhole(text: string) {
  const reader = new ResponseReader(MAX_HEAD_BYTES);
  reader.begin('GET');
  const bytes = Buffer.from(text, 'latin1');
  return { reader, last: reader.read(bytes, bytes.length) };
}

it('ResponseReader copies and searches a head that comes byte by byte once or twice, not with each byte', () => {
  const reader = new ResponseReader(65_536);
  reader.begin('GET');
  const head = Buffer.from(`HTTP/1.1 200 OK\r\n${'a:\r\n'.repeat(2_000)}Content-Length: 1\r\n\r\nx`, 'latin1');
  const copied = countCopied();
  const searches = vi.spyOn(Buffer.prototype, 'indexOf');
  for (let at = 0; at < head.length - 1; at += 1) reader.read(head.subarray(at, at + 1), 1);
  expect(reader.read(head.subarray(-1), 1)).toBe('complete');
  // All of what was held, with each byte, would be 33 MB and 8 million line ends.
  expect(copied()).toBeLessThan(4 * head.length);
  expect(searches.mock.calls.length).toBeLessThan(2 * head.length);
  reader.release();
  expect([reader.bytes.length, reader.keptBytes]).toEqual([0, 0]);
});

it.each([
  ['a length', 'GET', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello', 200],
  ['chunks with extension and trailer', 'GET', `${CHUNKED}5;a=b\r\nhello\r\n0\r\nX: 1\r\n\r\n`, 200],
  ['chunks said twice, as Tomcat does', 'GET', `${CHUNKED.replace(/T.*\n/, '$&$&')}1\r\na\r\n0\r\n\r\n`, 200],
  ['chunks after another coding', 'GET', `${CHUNKED.replace('chunked', 'gzip, chunked')}1\r\na\r\n0\r\n\r\n`, 200],
  ['a HEAD response with a length', 'HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n', 200],
  ['304 with a length', 'GET', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n', 304],
  ['interim responses before', 'GET', `${INTERIM}HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx`, 200],
  ['no reason phrase', 'GET', 'HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n', 404],
])('ResponseReader finds the end of %s wherever it is cut', (_what, method, text, status) => {
  for (let split = 0; split <= text.length; split += 1) {
    expect(follow(method, text, split)).toEqual({ passed: text, last: 'complete', status });
  }
});

it.each([
  ['what ends with another coding', 'Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n'],
  ['when nothing else ends the body', '\r\nabc'],
])('ResponseReader reads until the connection closes %s', (_what, rest) => {
  const { reader, last } = readWhole(`HTTP/1.1 200 OK\r\n${rest}`);
  expect([last, reader.endsWithConnection]).toEqual(['more', true]);
});

it.each([
  ['blanks before a colon', 'X-A : b\r\nContent-Length\t: 1', 'X-A: b\r\nContent-Length: 1'],
  ['folds', 'X-A: b\r\n \tc\r\nContent-Length:\r\n 1', 'X-A: b c\r\nContent-Length: 1'],
])('ResponseReader removes %s from a head', (_what, fields, mended) => {
  const [sent, passed] = [fields, mended].map((lines) => `HTTP/1.1 200 OK\r\n${lines}\r\n\r\nx`);
  for (let split = 0; split <= sent!.length; split += 1) {
    expect(follow('GET', sent!, split)).toEqual({ passed, last: 'complete', status: 200 });
  }
});

it.each([
  ['SSH-2.0-x\r\n\r\n', 'status line'],
  ['HTTP/1.1 200 OK\r\nX-A: 1\r\nsecret\r\n\r\n', 'line 3'],
  ['HTTP/1.1 200 OK\r\nX-A: secret\0\r\n\r\n', 'field X-A (line 2)'],
  [`HTTP/1.1 200 OK\r\n${'x'.repeat(90)}: \0\r\n\r\n`, `field ${'x'.repeat(40)} (line 2)`],
  ['HTTP/1.1 200 OK\r\nContent-Length: secret\r\n\r\n', 'field Content-Length'],
  [`${CHUNKED.slice(0, -2)}Content-Length: 1\r\n\r\n`, 'Content-Length beside Transfer-Encoding'],
  [`${CHUNKED}secret\r\n`, 'chunk size'],
  [`${CHUNKED}1;=secret\r\n`, 'chunk extension'],
  [`${CHUNKED}0\r\nsecret\r\n`, 'trailers'],
  ['HTTP/1.1 101 Switching Protocols\r\n\r\n', 'status 101'],
  ['HTTP/1.1 200 OK\r\n X: a\r\n\r\n', 'line 2'],
])('ResponseReader names what is wrong with %j, and passes nothing before its body: %s', (text, fault) => {
  const { reader, last } = readWhole(text);
  const passedBytes = text.startsWith(CHUNKED) ? CHUNKED.length : 0;
  expect([last, reader.fault, reader.end]).toEqual(['malformed', fault, passedBytes]);
});

it('ResponseReader refuses a head beyond the limit, whether its end has come or not', () => {
  const text = `HTTP/1.1 200 OK\r\nX: ${'y'.repeat(MAX_HEAD_BYTES)}\r\n\r\n`;
  expect(follow('GET', text, 0).last).toBe('too-large');
  expect(follow('GET', text.slice(0, -4), 0).last).toBe('too-large');
});

it.each([
  ['HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', true],
  ['HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n', false],
  ['HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n', false],
  ['HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: Keep-Alive\r\n\r\n', true],
  ['HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: close, keep-alive\r\n\r\n', false],
  ['HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n', false],
  ['HTTP/1.1 200 OK\r\n\r\n', false],
])('parseResponseHead tells from %j whether the connection goes on', (text, isPersistent) => {
  const bytes = Buffer.from(`before${text}behind`, 'latin1');
  expect(parseResponseHead(bytes, 6, 6 + text.length, 'GET')?.isPersistent).toBe(isPersistent);
});
