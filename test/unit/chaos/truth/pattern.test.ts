import { describe, expect, it } from 'vitest';
import { PatternCheck, patternOf } from '../../../chaos/truth/pattern.ts';

const PATTERN = patternOf(7, 'r1/answer', 1_000);

/** Checks the bytes in pieces of this size; returns the first fault. */
function checkInPieces(bytes: Buffer, size: number): { wrong: string | undefined; isComplete: boolean } {
  const check = new PatternCheck(PATTERN);
  let wrong: string | undefined;
  for (let at = 0; at < bytes.length && wrong === undefined; at += size)
    wrong = check.take(bytes, at, Math.min(bytes.length, at + size));
  return { wrong, isComplete: check.isComplete };
}

describe('a pattern', () => {
  it('is verified in pieces of any size', () => {
    for (const size of [1, 3, 64, 999, 1_000]) {
      expect(checkInPieces(PATTERN, size)).toEqual({ wrong: undefined, isComplete: true });
    }
  });

  const wrongBit = Buffer.from(PATTERN);
  wrongBit[500] = (wrongBit[500] ?? 0) ^ 0x10;
  it.each([
    ['a wrong bit', wrongBit, 'byte 500 is '],
    ['a missing byte', Buffer.concat([PATTERN.subarray(0, 400), PATTERN.subarray(401)]), 'byte 400 is '],
    ['a repeated piece', Buffer.concat([PATTERN.subarray(0, 500), PATTERN.subarray(400)]), 'byte 500 is '],
    ['a surplus byte', Buffer.concat([PATTERN, Buffer.from('x')]), 'not 1000'],
  ])('shows %s', (_, bytes, wrong) => {
    expect(checkInPieces(bytes, 64).wrong).toContain(wrong);
  });

  it('shows that the last byte is missing', () => {
    expect(checkInPieces(PATTERN.subarray(0, -1), 64)).toEqual({ wrong: undefined, isComplete: false });
  });
});
