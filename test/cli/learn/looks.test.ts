import { describe, expect, it } from 'vitest';
import { looksLikeField, looksLikeWord, looksRandom } from '../../../src/cli/learn/looks.ts';

describe('names that a programmer gives', () => {
  it.each([
    'rpcName',
    'E',
    'interface_name',
    'x1',
    '_links',
    '$ref',
    '@type',
    'getHTTPSUrlForID',
    'názov',
    'CONSTANT_NAME',
  ])('show %s as a field', (key) => expect(looksLikeField(key)).toBe(true));

  it.each(['d2', 'subscribeObject', 'rpcSBA', 'object-values', 'unSubscribeObject', 'v12'])(
    'show %s as a word of a channel',
    (segment) => expect(looksLikeWord(segment)).toBe(true),
  );
});

describe('data', () => {
  it.each(['H.Demo', 'P101', 'a b', '', '17', 'ann@example.org', 'x'.repeat(41), 'Tank%201', 'a/b', 'k\n', '{x}', '#'])(
    'is %j, as a field and in a channel',
    (text) => expect([looksLikeField(text), looksLikeWord(text)]).toEqual([false, false]),
  );

  it.each([
    '3f2a91bc77d',
    '6f1c1e3a-2a55-4d4e-9a3c-0d9f2c7a1b11',
    'aGVsbG8gd29ybGQhISE',
    '2vQzK8sWpLmXbR',
    'kqzxwvtrplmn',
    '20261121',
  ])('is random where it looks like %s', (text) => expect(looksRandom(text)).toBe(true));

  it.each(['H.Demo', 'Boiler1.Temperature', 'S.Pump_12', 'Kessel'])('is not random where people chose it: %s', (text) =>
    expect(looksRandom(text)).toBe(false),
  );
});
