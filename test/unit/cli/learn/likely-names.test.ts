import { expect, it } from 'vitest';
import { looksLikeField, looksLikeWord, looksRandom } from '../../../../src/cli/learn/name-node.ts';

it.each('rpcName E interface_name $ref getHTTPSUrlForID názov'.split(' '))(
  'a name that a programmer gave may be shown as a field: %s',
  (key) => expect(looksLikeField(key)).toBe(true),
);

it.each(['d2', 'subscribeObject', 'rpcSBA', 'object-values', 'unSubscribeObject', 'v12'])(
  'a name that a programmer gave may be shown as a word of a channel: %s',
  (segment) => expect(looksLikeWord(segment)).toBe(true),
);

it.each(['H.Demo', 'P101', 'a b', '', '17', 'ann@example.org', 'x'.repeat(41), 'Tank%201', 'a/b', 'k\n', '{x}', '#'])(
  'data in place of a name is never shown, neither as a field nor in a channel: %j',
  (text) => expect([looksLikeField(text), looksLikeWord(text)]).toEqual([false, false]),
);

it.each([
  ...['3f2a91bc77d', '6f1c1e3a-2a55-4d4e-9a3c-0d9f2c7a1b11', 'aGVsbG8gd29ybGQhISE', '2vQzK8sWpLmXbR'],
  ...['kqzxwvtrplmn', '20261121'],
])('data looks random, and a name that people chose does not: %s', (text) => {
  expect(looksRandom(text)).toBe(true);
  for (const name of ['H.Demo', 'Boiler1.Temperature', 'S.Pump_12', 'Kessel']) expect(looksRandom(name)).toBe(false);
});
