import { expect, it } from 'vitest';
import { closeFrame, FrameCursor } from '../../../../src/protocol/websocket/frame-cursor.ts';
import { frame, MASK } from '../../../support/protocol/websocket/frames.ts';

const payloadOf = (length: number) => Buffer.alloc(length, 0x88);
const textOf = (length: number) => frame({ opcode: 1, payload: payloadOf(length) });

/** Positions at which the cursor says that a frame may be put in, fed in pieces of `size`. */
function gaps(bytes: Buffer, size: number, from: 'client' | 'upstream'): readonly number[] {
  const cursor = new FrameCursor(from);
  const found: number[] = [];
  for (let start = 0; start < bytes.length; start += size) {
    const piece = bytes.subarray(start, start + size);
    for (let at = 0; at < piece.length; ) {
      at = cursor.advance(piece, at);
      if (cursor.isBetweenFrames) found.push(start + at);
    }
  }
  return found;
}

it.each([
  ['client', 1],
  ['upstream', 13],
  ['upstream', 1_000_000],
] as const)('a cursor finds every gap and no other, from the %s in pieces of %i', (from, size) => {
  const mask = from === 'client' ? { mask: MASK } : {};
  const frames = [0, 1, 125, 126, 200, 65_535, 65_536, 70_001, 3].map((length, i) =>
    frame({ opcode: i % 2 === 0 ? 1 : 9, payload: payloadOf(length), ...mask }),
  );
  const ends = frames.map((_, i) => Buffer.concat(frames.slice(0, i + 1)).length);
  expect(gaps(Buffer.concat(frames), size, from)).toEqual(ends);
});

it('a cursor stops before a close frame, and only there', () => {
  const before = Buffer.concat([textOf(300), frame({ opcode: 2, payload: payloadOf(5) })]);
  const cursor = new FrameCursor('upstream');
  const bytes = Buffer.concat([before, closeFrame(1000), textOf(3)]);
  expect(cursor.advanceToClose(bytes.subarray(0, 10))).toBe(10);
  expect(cursor.isBetweenFrames).toBe(false);
  expect(cursor.advanceToClose(bytes.subarray(10))).toBe(before.length - 10);
  expect([cursor.isBetweenFrames, cursor.hasClosed]).toEqual([true, false]);
  cursor.follow(bytes.subarray(before.length));
  expect(cursor.hasClosed).toBe(true);
});

it.each([
  ['an opcode that means nothing', Buffer.from([0x83, 0])],
  ['a masked frame of the upstream', frame({ opcode: 1, payload: payloadOf(5), mask: MASK })],
  ['a length past 2^53', Buffer.from([0x82, 127, 0xff, 0, 0, 0, 0, 0, 0, 0])],
  ['an answer of HTTP', Buffer.from('HTTP/1.1 200 OK\r\n\r\n')],
])('a cursor gives up at %s, and never says again that it is between two frames', (_what, bytes) => {
  const cursor = new FrameCursor('upstream');
  cursor.follow(bytes);
  cursor.follow(textOf(2));
  expect([cursor.isLost, cursor.isBetweenFrames]).toEqual([true, false]);
});
