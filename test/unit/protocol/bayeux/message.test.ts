import { expect, it } from 'vitest';
import { parseMessages } from '../../../../src/protocol/bayeux/message.ts';

const one = (text: string) => {
  const messages = parseMessages(text);
  expect(messages).toHaveLength(1);
  return messages?.[0];
};

it('messages of real peers a handshake of the CometD client', () => {
  const text =
    '[{"ext":{"authentication":{"user":"ana"}},"id":"3","version":"1.0","minimumVersion":"1.0","channel":"/meta/handshake","supportedConnectionTypes":["long-polling","callback-polling"],"advice":{"timeout":60000,"interval":0}}]';
  expect(one(text)).toEqual({
    channel: '/meta/handshake',
    id: '3',
    supportedConnectionTypes: ['long-polling', 'callback-polling'],
    ext: { authentication: { user: 'ana' } },
    advice: { timeoutMs: 60_000, intervalMs: 0 },
  });
});

it('messages of real peers an accepted handshake, with the advice of a CometD server', () => {
  const text =
    '[{"id":"3","channel":"/meta/handshake","successful":true,"clientId":"0cf5e3","version":"1.0","supportedConnectionTypes":["long-polling"],"advice":{"reconnect":"retry","timeout":30000,"interval":0,"maxInterval":10000,"long-polling":{"interval":7}}}]';
  expect(one(text)).toMatchObject({
    clientId: '0cf5e3',
    successful: true,
    advice: { reconnect: 'retry', timeoutMs: 30_000, intervalMs: 0, maxIntervalMs: 10_000 },
  });
});

it('messages of real peers a connect refused by faye, whose id came as a number', () => {
  const text =
    '[{"id":2,"channel":"/meta/connect","successful":false,"error":"401:nobody:Unknown client","advice":{"reconnect":"handshake"}}]';
  expect(one(text)).toEqual({
    channel: '/meta/connect',
    id: '2',
    successful: false,
    error: '401:nobody:Unknown client',
    advice: { reconnect: 'handshake' },
  });
});

it('messages of real peers a delivery and an acknowledgement in one array, in their order', () => {
  const text =
    '[{"channel":"/d2/object/H.Demo","data":{"value":1.5}},{"id":"6","channel":"/d2/object/H.Demo","successful":true}]';
  expect(parseMessages(text)).toEqual([
    { channel: '/d2/object/H.Demo', data: { value: 1.5 } },
    { channel: '/d2/object/H.Demo', id: '6', successful: true },
  ]);
});

it('messages of real peers a heartbeat of faye over WebSocket, which is no message', () => {
  expect(parseMessages('[]')).toEqual([]);
});

it('parseMessages takes a message without an array, and space around', () => {
  expect(parseMessages(' \r\n{"channel":"/a"}\n')).toEqual([{ channel: '/a' }]);
});

it('parseMessages makes a list of a single subscription', () => {
  expect(one('{"channel":"/meta/subscribe","subscription":"/a"}')?.subscription).toEqual(['/a']);
  expect(one('{"channel":"/meta/subscribe","subscription":["/a","/b/*"]}')?.subscription).toEqual(['/a', '/b/*']);
});

it('parseMessages distinguishes null data from no data', () => {
  expect(one('{"channel":"/a","data":null}')?.data).toBeNull();
  expect(one('{"channel":"/a"}')?.data).toBeUndefined();
});

it('parseMessages leaves out fields of a wrong type', () => {
  const text =
    '{"channel":"/a","id":true,"clientId":7,"successful":"true","subscription":[1,"/b",null],"connectionType":{},"supportedConnectionTypes":3,"error":{},"advice":[]}';
  expect(one(text)).toEqual({ channel: '/a', subscription: ['/b'] });
});

it('parseMessages leaves out advice of a wrong type', () => {
  const text = '{"channel":"/a","advice":{"reconnect":"never","interval":"5","timeout":null,"maxInterval":1e999}}';
  expect(one(text)?.advice).toEqual({});
});

it('parseMessages keeps a negative interval: do not connect again', () => {
  expect(one('{"channel":"/a","advice":{"interval":-1}}')?.advice?.intervalMs).toBe(-1);
});

it.each([
  ['nothing', ''],
  ['no JSON', '<html>'],
  ['unfinished JSON', '[{"channel":"/a"}'],
  ['a text', '"/a"'],
  ['a number', '1'],
  ['null', 'null'],
  ['an object without a channel', '{"data":1}'],
  ['a channel that is no text', '{"channel":["/a"]}'],
  ['an array of other things', '[1,"/a",null,[{"channel":"/a"}]]'],
  ['a channel behind __proto__', '{"__proto__":{"channel":"/a"}}'],
])('%s is not Bayeux', (_, text) => {
  expect(parseMessages(text)).toBeUndefined();
});

it('a message that is not Bayeux is left out between messages, as a server answers the others all the same', () => {
  expect(parseMessages('[{},{"channel":"/a"},null,{"successful":false,"error":"400::channel_missing"}]')).toEqual([
    { channel: '/a' },
  ]);
});

it('deep nesting neither throws nor recurses', () => {
  const depth = 7_000;
  const data = '['.repeat(depth) + ']'.repeat(depth);
  expect(one(`{"channel":"/a","data":${data}}`)?.channel).toBe('/a');
  expect(parseMessages('['.repeat(depth))).toBeUndefined();
  expect(parseMessages(data)).toBeUndefined();
});

it('the last of doubled keys counts, as for servers', () => {
  expect(one('{"channel":"/a","channel":"/b"}')?.channel).toBe('/b');
});

it('no text pollutes a prototype', () => {
  const text =
    '{"channel":"/a","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"advice":{"__proto__":{"interval":5}}}';
  const message = one(text);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  expect(message).toEqual({ channel: '/a', advice: {} });
  expect(Object.getPrototypeOf(message)).toBe(Object.prototype);
});
