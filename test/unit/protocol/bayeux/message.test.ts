import { expect, it } from 'vitest';
import {
  isMeta,
  isService,
  isUnknownClient,
  parseErrorCode,
  parseMessages,
} from '../../../../src/protocol/bayeux/message.ts';

const one = (text: string) => {
  const messages = parseMessages(text);
  expect(messages).toHaveLength(1);
  return messages?.[0];
};

it.each<[string, string, object[]]>([
  [
    'a connect refused by faye, whose id came as a number',
    '[{"id":2,"channel":"/meta/connect","successful":false,"error":"401:nobody:Unknown client","advice":{"reconnect":"handshake"}}]',
    [
      {
        ...{ channel: '/meta/connect', id: '2', successful: false, error: '401:nobody:Unknown client' },
      },
    ],
  ],
  ['a heartbeat of faye over WebSocket, which is no message', '[]', []],
  ['a message without an array, and space around', ' \r\n{"channel":"/a"}\n', [{ channel: '/a' }]],
  [
    'fields of a wrong type, which are left out',
    '{"channel":"/a","id":true,"clientId":7,"successful":"true","subscription":[1,"/b",null],"connectionType":{},"supportedConnectionTypes":3,"error":{},"advice":[]}',
    [{ channel: '/a', subscription: ['/b'] }],
  ],
  [
    'a negative interval: do not connect again',
    '{"channel":"/a","advice":{"interval":-1}}',
    [{ channel: '/a', adviceIntervalMs: -1 }],
  ],
  ['doubled keys, of which the last counts, as for servers', '{"channel":"/a","channel":"/b"}', [{ channel: '/b' }]],
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

it('no text pollutes a prototype', () => {
  const text =
    '{"channel":"/a","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"advice":{"__proto__":{"interval":5}}}';
  const message = one(text);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  expect(message).toEqual({ channel: '/a' });
  expect(Object.getPrototypeOf(message)).toBe(Object.prototype);
});

it('the first segment of a channel shows whether it is a meta or a service channel', () => {
  const channels = ['/meta/connect', '/meta/x', '/metal/x', '/a/meta/x', '/service/x'];
  expect(channels.map(isMeta)).toEqual([true, true, false, false, false]);
  expect(['/service/d2/rpc', '/services/x', '/a/service/x'].map(isService)).toEqual([true, false, false]);
});

const toCodeless = (text: string | undefined): [string | undefined, undefined] => [text, undefined];

it.each<[string | undefined, number | undefined]>([
  ['401::No client ID', 401],
  ['402:xj3s:Unknown Client ID', 402],
  ['500::a: b: c', 500],
  ['400:broken', 400],
  ...['', 'Authentication failed', '40::x', '4020::x', '402', ' 402::x', 'a402::x', undefined].map(toCodeless),
])('an error has the code at its start, if any: %s', (text, code) => {
  expect(parseErrorCode(text)).toBe(code);
});

it('an error says that the client is unknown, with the number and the words of each server', () => {
  const gone = ['402::session_unknown', '402::Unknown client', '401:nobody:Unknown client', '402:x:Unknown Client ID'];
  const other = ['402:data:Missing required parameter', '401::No client ID', '404:/a:Unknown channel', undefined];
  expect(gone.map(isUnknownClient)).toEqual(gone.map(() => true));
  expect(other.map(isUnknownClient)).toEqual(other.map(() => false));
});
