import { expect, it } from 'vitest';
import { AddressRanges, isPrivate, normalizeAddress } from '../../../src/base/address.ts';

const toNone = (text: string): [string, undefined] => [text, undefined];

it.each([
  ['1.2.3.4', '1.2.3.4'],
  ['2001:DB8:0:0::1', '2001:db8::1'],
  ['::ffff:1.2.3.4', '1.2.3.4'],
  ['::FFFF:0102:0304', '1.2.3.4'],
  ['::1.2.3.4', '::102:304'],
  ...['', '1.2.3', '01.2.3.4', '0x7f.0.0.1', '3405803783', '<script>', '1.2.3.4 ', '1.2.3.4:80'].map(toNone),
  ...['[::1]', 'fe80::1%eth0', 'localhost', '\xff'].map(toNone),
])('the text %j is the address %s', (text, address) => {
  expect(normalizeAddress(text)).toBe(address);
});

it.each([
  ['127.0.0.1', ['127.0.0.1', '::ffff:127.0.0.1'], ['127.0.0.2', '::1', '']],
  ['10.0.0.0/8', ['10.255.0.1'], ['11.0.0.1', '::10.0.0.1']],
  ['::ffff:10.0.0.0/104', ['10.255.0.1'], ['11.0.0.1']],
  ['fd00::/8', ['fd12::1', 'fd12::1%eth0'], ['fe80::1', '10.0.0.1', 'no address']],
  ['0.0.0.0/0', ['203.0.113.1'], ['2001:db8::1']],
  ['::/0', ['2001:db8::1'], ['203.0.113.1']],
])('the range %s has %j and not %j', (range, inside, outside) => {
  const ranges = new AddressRanges([range]);
  expect(inside.filter((address) => !ranges.has(address))).toEqual([]);
  expect(outside.filter((address) => ranges.has(address))).toEqual([]);
});

it.each(['', '10.0.0.0/33', '10.0.0/8', '::/129', '::ffff:1.2.3.4/64', '10.0.0.0/', 'localhost', 'fe80::1%eth0/64'])(
  '%j is no range',
  (text) => {
    expect(AddressRanges.isRange(text)).toBe(false);
    expect(() => new AddressRanges([text])).toThrow(TypeError);
  },
);

it.each([
  ...['10.1.2.3', '192.168.0.1', '127.0.0.1', 'fd00::1', 'fe80::1'].map((address) => [address, true]),
  ...['8.8.8.8', '203.0.113.7', '2a00:1450::1', ''].map((address) => [address, false]),
] as [string, boolean][])('%j is a private address: %s', (address, expected) => {
  expect(isPrivate(address)).toBe(expected);
});
