import { expect, it } from 'vitest';
import { halfSipHash } from '../../../../src/measure/sessions/half-sip-hash.ts';

/** Of the reference implementation (CC0): key 00 01 .. 07, input 00 01 .. of the lengths 0, 1, 2, ... */
const VECTORS = `
  218d1f59b9b83cc8 be552412f8387315 064f39ef7c50eb57 ce0f1a45f7060679 d5e78a175be52ea1 cb9d7c3f2f3db580
  ce3e91358aa2bc25 ff202728b07bc684 edfee820bce4858c 5b51cccc13888307 95b0469f06a6f2ee ae26333994ddcd48
  7bc71f9faef5c799 5a2352d75a0c3744 3bb1a870eae8e658 217d0bcb4e81c902 7336aad25f7bf3b5 37adc0641c4c4f6a`
  .trim()
  .split(/\s+/);
const KEY = { k0: 0x03020100, k1: 0x07060504 };

const textOf = (length: number) => Buffer.from(Array.from({ length }, (_, i) => i)).toString('latin1');

/** The 53 bits of a vector that are kept: all of its first half, 21 of its second. */
function keptOf(vector: string): number {
  const bytes = Buffer.from(vector, 'hex');
  return (bytes.readUInt32LE(4) & 0x1fffff) * 2 ** 32 + bytes.readUInt32LE(0);
}

it.each(VECTORS.map((vector, length) => [length, vector] as const))(
  'HalfSipHash-2-4 with 64 bits of %i bytes is %s',
  (length, vector) => {
    expect(halfSipHash(KEY, textOf(length))).toBe(keptOf(vector));
  },
);

it('HalfSipHash-2-4 with 64 bits depends on both halves of the key', () => {
  const text = 'Basic YW5uYTpwYXNz';
  const hashes = [KEY, { ...KEY, k0: 1 }, { ...KEY, k1: 1 }].map((key) => halfSipHash(key, text));
  expect(new Set(hashes).size).toBe(3);
});
