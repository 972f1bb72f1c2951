import { describe, expect, it } from 'vitest';
import { withoutMapping } from '../../../src/base/address.ts';

describe('the address of a client of a listener on ::', () => {
  it.each([
    ['::ffff:10.0.0.7', '10.0.0.7'],
    ['::FFFF:10.0.0.7', '10.0.0.7'],
    ['10.0.0.7', '10.0.0.7'],
    ['2001:db8::7', '2001:db8::7'],
    ['::ffff:a00:7', '::ffff:a00:7'],
  ])('%s is shown as %s', (address, shown) => {
    expect(withoutMapping(address)).toBe(shown);
  });
});
