import { expect, it } from 'vitest';
import { parseExtensions } from '../../../../src/protocol/websocket/extensions.ts';

const windowOf = (windowBits: number) => ({ contextTakeover: true, windowBits });
const FULL = windowOf(15);
const CUT = { contextTakeover: false, windowBits: 15 };

it.each([[[]], [['']], [[' ', ' , ']]])('a 101 agreed on nothing with %j', (values) => {
  expect(parseExtensions(values)).toEqual({});
});

it.each([
  [['permessage-deflate'], FULL, FULL],
  [[' Permessage-Deflate\t, '], FULL, FULL],
  [['', 'permessage-deflate'], FULL, FULL],
  [['permessage-deflate; client_no_context_takeover; server_max_window_bits=10'], CUT, windowOf(10)],
  [['permessage-deflate;server_no_context_takeover ;client_max_window_bits = "8"'], windowOf(8), CUT],
])('a 101 agreed on compression for each direction with %j', (values, client, upstream) => {
  expect(parseExtensions(values)).toEqual({ deflate: { client, upstream } });
});

it.each([
  'x-webkit-deflate-frame',
  'permessage-bzip2',
  '; server_no_context_takeover',
  'permessage-deflate, permessage-deflate',
  'permessage-deflate;',
  ...[
    ...['foo', 'foo=1', '__proto__', 'client_max_window_bits', 'server_max_window_bits'],
    ...['7', '16', '010', '1e1', '""', '"12', '10; server_max_window_bits=10'].map(
      (bits) => `server_max_window_bits=${bits}`,
    ),
    ...['=', '=1', '; client_no_context_takeover'].map((more) => `client_no_context_takeover${more}`),
  ].map((parameter) => `permessage-deflate; ${parameter}`),
])('a 101 with %s cannot be read', (value) => {
  expect(parseExtensions([value])).toBe('unknown');
});
