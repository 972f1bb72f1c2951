import { expect, it } from 'vitest';
import { addressKeyOf } from '../../../src/limits/address-counts.ts';

it.each([
  ['10.0.0.1', '10.0.0.1'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['::1', '0:0:0:0'],
  ['', 'unknown'],
  ['nonsense', 'unknown'],
])('the key of the address %j is %j', (address, key) => {
  expect(addressKeyOf(address)).toBe(key);
});
