/** What of a Comet request is looked into, and when. */
import { gzipSync } from 'node:zlib';
import { beforeEach, expect, it } from 'vitest';
import { CometTraffic, rpcAnswer, rpcCall } from '../../../support/measure/comet/comet-traffic.ts';
import { CANCELLED } from '../../../support/measure/record/traffic.ts';

let traffic: CometTraffic;
beforeEach(() => {
  traffic = new CometTraffic();
});

const COUNTED = { rpc: 1, 'rpc.E.Demo.Test': 1 };

it.each([...[401, 403, 404, 302, 500].map((status) => ({ status })), { ending: CANCELLED }])(
  'the body of a stranger is not read when its exchange ends with %j',
  (ending) => {
    const exchange = traffic.beginPost([rpcCall('1', 'stranger')]);
    traffic.endPost(exchange, ending);
    expect([traffic.numbers.counts.clientMessages, traffic.memory.usedBytes]).toEqual([0, 0]);
  },
);

it('the body of a stranger is read once the server has accepted it, with the moment at which it came', () => {
  const exchange = traffic.beginPost([rpcCall('1', 'a')]);
  expect(traffic.numbers.counts.clientMessages).toBe(0);
  traffic.endPost(exchange, { messages: [rpcAnswer('1')], afterMs: 30 });
  expect(traffic.numbers.counts.clientMessages).toBe(1);
  expect([traffic.counts(), traffic.maxMsOf()]).toEqual([COUNTED, 30]);
});

it('the body of a client that the server knows is read at once: by the cookie of its login, also when it is compressed', () => {
  traffic.handshake('known', { cookie: 'c1' });
  const connect = gzipSync(JSON.stringify([{ channel: '/meta/connect', id: 'c', clientId: 'known' }]));
  const held = traffic.beginPost(connect, { cookie: 'c1', coding: 'gzip' });
  expect(traffic.numbers.holds.now).toBe(1);
  traffic.release(held);
});

it('a login form is kept until the answer, and not after it', () => {
  const login = (status: number) => {
    const form = traffic.beginPost('j_username=anna&j_password=geheim', {}, '/smartWeb/pages/j_security_check');
    expect(traffic.memory.used.bodies).toBeGreaterThan(0);
    traffic.endPost(form, { status, body: '', setCookie: 'c1' });
    expect(traffic.memory.usedBytes).toBe(0);
  };
  login(401);
  expect(traffic.sessions()).toEqual([]);
  login(303);
  expect(traffic.sessions()).toMatchObject([{ userName: 'anna' }]);
});

const TEXT = JSON.stringify([rpcCall('1', 'a')]);
const DEEP = JSON.stringify([{ ...rpcCall('1', 'a'), ext: JSON.parse('['.repeat(900) + ']'.repeat(900)) }]);
it.each<[string, string | Buffer, string | undefined]>([
  ['with Content-Encoding: gzip on a plain body', TEXT, 'gzip'],
  ['with two codings on a plain body', TEXT, 'gzip, gzip'],
  ['with blanks before it, almost up to the limit', ' \r\n\t'.repeat(260_000) + TEXT, undefined],
  ['nested 900 deep', DEEP, undefined],
  ['in gzip', gzipSync(TEXT), 'gzip'],
])('a body is read as the server reads it %s', (_, body, coding) => {
  const exchange = traffic.beginPost(body, { coding });
  traffic.endPost(exchange, { messages: [rpcAnswer('1')] });
  expect(traffic.counts()).toEqual(COUNTED);
  expect(Object.values(traffic.numbers.unread).every((count) => count === 0)).toBe(true);
  expect(traffic.memory.used.bodies).toBe(0);
});

it('a body is read as the server reads it and passes unread, counted, where it is twice compressed, too large, or too much at once', () => {
  const post = (body: string | Buffer, coding?: string): void =>
    traffic.endPost(traffic.beginPost(body, { coding }), { body: '[]' });
  post(gzipSync(gzipSync(TEXT)), 'gzip, gzip');
  post(' '.repeat(1_048_576) + TEXT);
  post(gzipSync(`[${'{"channel":"/a"},'.repeat(40_000)}1]`), 'gzip');
  post(`[{"channel":"/a","data":[${'[],'.repeat(9_000)}0]}]`);
  expect(traffic.numbers.unread).toMatchObject({ 'content-coding': 2, 'body-too-large': 1, 'too-complex': 1 });
  expect(traffic.memory.usedBytes).toBe(0);
});

it('a response that is broken off gives back what was kept of it', () => {
  traffic.handshake('known');
  const held = traffic.hold('known');
  const fields = () => [];
  traffic.reporter.response(held, { status: 200, field: () => undefined, fields });
  traffic.reporter.responseBytes(held, Buffer.from('[{"channel":"/meta/connect"'));
  expect(traffic.memory.used.bodies).toBeGreaterThan(0);
  traffic.end(held, { ending: CANCELLED, status: 200 });
  expect(traffic.memory.usedBytes).toBe(0);
});

it('names on their way are in the budget until the answer has come, and refused past it', () => {
  traffic.handshake('known');
  const subscription = Array.from({ length: 2_000 }, (_, n) => `/d2/object/H.Pump${n}`);
  const ask = () => traffic.beginPost([{ channel: '/meta/subscribe', id: 's', clientId: 'known', subscription }]);
  const first = ask();
  expect(traffic.memory.used.names).toBeGreaterThan(2_000 * 150);
  traffic.memory.maxBytes = traffic.memory.used.names * 3;
  const second = ask();
  expect(traffic.numbers.untracked.requests).toBe(1);
  for (const exchange of [first, second]) traffic.endPost(exchange, { ending: CANCELLED });
  expect(traffic.memory.used.names).toBe(0);
});

it('clients that one exchange holds are in the budget until it has ended, and refused past it', () => {
  traffic.handshake('known');
  const connects = Array.from({ length: 2_000 }, (_, n) => ({
    ...{ channel: '/meta/connect', id: `${n}`, clientId: n === 0 ? 'known' : `other-${n}` },
  }));
  const first = traffic.beginPost(connects);
  expect(traffic.memory.used.names).toBeGreaterThan(99 * 750);
  expect(traffic.numbers.untracked.clients).toBe(1_900);
  traffic.memory.maxBytes = traffic.memory.used.names * 3;
  const second = traffic.beginPost(connects.slice(0, 90));
  expect(traffic.numbers.untracked.clients).toBeGreaterThan(1_900);
  for (const exchange of [first, second]) traffic.endPost(exchange, { ending: CANCELLED });
  expect(traffic.memory.usedBytes).toBe(0);
});
