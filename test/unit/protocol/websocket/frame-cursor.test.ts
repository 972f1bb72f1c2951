import { describe, expect, it } from 'vitest';
import { MemoryBudget } from '../../../../src/limits/memory-budget.ts';
import { closeFrame, GOING_AWAY, maskedCloseFrame } from '../../../../src/protocol/websocket/close-frame.ts';
import { FrameCursor } from '../../../../src/protocol/websocket/frame-cursor.ts';
import { WebSocketMessageReader } from '../../../../src/protocol/websocket/message-reader.ts';

/** A frame of that opcode with `length` bytes of payload, masked or not. */
function frame(opcode: number, length: number, isMasked = false): Buffer {
  const mask = isMasked ? 0x80 : 0;
  const head = [0x80 | opcode];
  if (length < 126) head.push(mask | length);
  else if (length < 65_536) head.push(mask | 126, length >> 8, length & 0xff);
  else head.push(mask | 127, 0, 0, 0, 0, ...[24, 16, 8, 0].map((shift) => (length >>> shift) & 0xff));
  if (isMasked) head.push(1, 2, 3, 4);
  return Buffer.concat([Buffer.from(head), Buffer.alloc(length, 0x88)]);
}

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

describe('a cursor over frames', () => {
  const lengths = [0, 1, 125, 126, 200, 65_535, 65_536, 70_001, 3];

  it.each([
    ['client', 1],
    ['client', 7],
    ['client', 1_000_000],
    ['upstream', 1],
    ['upstream', 13],
    ['upstream', 1_000_000],
  ] as const)('finds every gap and no other, from the %s in pieces of %i', (from, size) => {
    const frames = lengths.map((length, i) => frame(i % 2 === 0 ? 1 : 9, length, from === 'client'));
    const ends = frames.map((_, i) => frames.slice(0, i + 1).reduce((sum, one) => sum + one.length, 0));
    expect(gaps(Buffer.concat(frames), size, from)).toEqual(ends);
  });

  it('stops before a close frame, and only there', () => {
    const before = Buffer.concat([frame(1, 300), frame(2, 5)]);
    const cursor = new FrameCursor('upstream');
    const bytes = Buffer.concat([before, closeFrame(1000), frame(1, 3)]);
    expect(cursor.advanceToClose(bytes.subarray(0, 10))).toBe(10);
    expect(cursor.isBetweenFrames).toBe(false);
    expect(cursor.advanceToClose(bytes.subarray(10))).toBe(before.length - 10);
    expect([cursor.isBetweenFrames, cursor.hasClosed]).toEqual([true, false]);
    cursor.follow(bytes.subarray(before.length));
    expect(cursor.hasClosed).toBe(true);
  });

  it.each([
    ['an opcode that means nothing', Buffer.from([0x83, 0])],
    ['a masked frame of the upstream', frame(1, 5, true)],
    ['a length past 2^53', Buffer.from([0x82, 127, 0xff, 0, 0, 0, 0, 0, 0, 0])],
    ['an answer of HTTP', Buffer.from('HTTP/1.1 200 OK\r\n\r\n')],
  ])('gives up at %s, and never says again that it is between two frames', (_what, bytes) => {
    const cursor = new FrameCursor('upstream');
    cursor.follow(bytes);
    cursor.follow(frame(1, 2));
    expect([cursor.isLost, cursor.isBetweenFrames]).toEqual([true, false]);
  });
});

describe('a close frame', () => {
  it('has two bytes of status, masked for an upstream only', () => {
    expect(closeFrame(GOING_AWAY)).toEqual(Buffer.from([0x88, 2, 0x03, 0xe9]));
    const masked = maskedCloseFrame(GOING_AWAY);
    expect([masked.length, masked[0], masked[1]]).toEqual([8, 0x88, 0x82]);
    const payload = [0, 1].map((i) => (masked[6 + i] as number) ^ (masked[2 + i] as number));
    expect(payload).toEqual([0x03, 0xe9]);
  });

  it('has another mask each time', () => {
    const masks = new Set(Array.from({ length: 20 }, () => maskedCloseFrame(1001).readUInt32BE(2)));
    expect(masks.size).toBeGreaterThan(10);
  });

  it.each(['client', 'upstream'] as const)('is read as a close frame from the %s', (from) => {
    let closes = 0;
    const options = {
      from,
      maxMessageBytes: 100,
      maxInflatedBytes: 100,
      deflate: undefined,
      budget: new MemoryBudget(1),
    };
    const reader = new WebSocketMessageReader(options, {
      onText: () => undefined,
      onUnread: (reason) => expect.fail(reason),
      onClose: () => {
        closes += 1;
      },
    });
    reader.push(from === 'client' ? maskedCloseFrame(GOING_AWAY) : closeFrame(GOING_AWAY));
    expect(closes).toBe(1);
  });
});
