import { expect, it } from 'vitest';
import { parseMessages } from '../../../../src/protocol/bayeux/message.ts';

const one = (text: string) => {
  const messages = parseMessages(text);
  expect(messages).toHaveLength(1);
  return messages?.[0];
};

it.each<[string, string, object[]]>([
  [
    'a handshake of the CometD client',
    '[{"ext":{"authentication":{"user":"ana"}},"id":"3","version":"1.0","minimumVersion":"1.0","channel":"/meta/handshake","supportedConnectionTypes":["long-polling","callback-polling"],"advice":{"timeout":60000,"interval":0}}]',
    [
      {
        ...{ channel: '/meta/handshake', id: '3', supportedConnectionTypes: ['long-polling', 'callback-polling'] },
        ...{ ext: { authentication: { user: 'ana' } }, advice: { timeoutMs: 60_000, intervalMs: 0 } },
      },
    ],
  ],
  [
    'the advice of a CometD server',
    '[{"id":"3","channel":"/meta/handshake","successful":true,"clientId":"0cf5e3","version":"1.0","advice":{"reconnect":"retry","timeout":30000,"interval":0,"maxInterval":10000,"long-polling":{"interval":7}}}]',
    [
      {
        ...{ channel: '/meta/handshake', id: '3', clientId: '0cf5e3', successful: true },
        advice: { reconnect: 'retry', timeoutMs: 30_000, intervalMs: 0, maxIntervalMs: 10_000 },
      },
    ],
  ],
  [
    'a connect refused by faye, whose id came as a number',
    '[{"id":2,"channel":"/meta/connect","successful":false,"error":"401:nobody:Unknown client","advice":{"reconnect":"handshake"}}]',
    [
      {
        ...{ channel: '/meta/connect', id: '2', successful: false, error: '401:nobody:Unknown client' },
        advice: { reconnect: 'handshake' },
      },
    ],
  ],
  [
    'a delivery and an acknowledgement in one array, in their order',
    '[{"channel":"/d2/object/H.Demo","data":{"value":1.5}},{"id":"6","channel":"/d2/object/H.Demo","successful":true}]',
    [
      { channel: '/d2/object/H.Demo', data: { value: 1.5 } },
      { channel: '/d2/object/H.Demo', id: '6', successful: true },
    ],
  ],
  ['a heartbeat of faye over WebSocket, which is no message', '[]', []],
  ['a message without an array, and space around', ' \r\n{"channel":"/a"}\n', [{ channel: '/a' }]],
  ['null data', '{"channel":"/a","data":null}', [{ channel: '/a', data: null }]],
  [
    'fields of a wrong type, which are left out',
    '{"channel":"/a","id":true,"clientId":7,"successful":"true","subscription":[1,"/b",null],"connectionType":{},"supportedConnectionTypes":3,"error":{},"advice":[]}',
    [{ channel: '/a', subscription: ['/b'] }],
  ],
  [
    'advice of a wrong type, which is left out',
    '{"channel":"/a","advice":{"reconnect":"never","interval":"5","timeout":null,"maxInterval":1e999}}',
    [{ channel: '/a', advice: {} }],
  ],
  [
    'a negative interval: do not connect again',
    '{"channel":"/a","advice":{"interval":-1}}',
    [{ channel: '/a', advice: { intervalMs: -1 } }],
  ],
  ['doubled keys, of which the last counts, as for servers', '{"channel":"/a","channel":"/b"}', [{ channel: '/b' }]],
  ['a single subscription', '{"channel":"/a","subscription":"/b"}', [{ channel: '/a', subscription: ['/b'] }]],
  [
    'the messages beside entries that are no messages, since a server answers them',
    '[{},{"channel":"/a"},null,{"successful":false,"error":"400::channel_missing"}]',
    [{ channel: '/a' }],
  ],
])('parseMessages reads %s', (_, text, messages) => {
  expect(parseMessages(text)).toEqual(messages);
});

it.each([
  ['nothing', ''],
  ['no JSON', '<html>'],
  ['unfinished JSON', '[{"channel":"/a"}'],
  ['null', 'null'],
  ['a channel that is no text', '{"channel":["/a"]}'],
  ['an array of other things', '[1,"/a",null,[{"channel":"/a"}]]'],
  ['a channel behind __proto__', '{"__proto__":{"channel":"/a"}}'],
])('%s is not Bayeux', (_, text) => {
  expect(parseMessages(text)).toBeUndefined();
});

it('deep nesting neither throws nor recurses', () => {
  const depth = 7_000;
  const data = '['.repeat(depth) + ']'.repeat(depth);
  expect(one(`{"channel":"/a","data":${data}}`)?.channel).toBe('/a');
  expect(parseMessages('['.repeat(depth))).toBeUndefined();
  expect(parseMessages(data)).toBeUndefined();
});

it('no text pollutes a prototype', () => {
  const text =
    '{"channel":"/a","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"advice":{"__proto__":{"interval":5}}}';
  const message = one(text);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  expect(message).toEqual({ channel: '/a', advice: {} });
  expect(Object.getPrototypeOf(message)).toBe(Object.prototype);
});
