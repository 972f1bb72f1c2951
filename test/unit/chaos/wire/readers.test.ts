import { describe, expect, it } from 'vitest';
import { BodyReader, type Framing } from '../../../chaos/wire/body-reader.ts';
import { HeadReader } from '../../../chaos/wire/heads.ts';
import { FrameReader, OPCODES, toFrame } from '../../../support/load/frames.ts';

function readInPieces(framing: Framing, text: string, size: number) {
  const bytes = Buffer.from(text, 'latin1');
  let payload = '';
  const reader = new BodyReader(framing, (chunk, from, to) => {
    payload += chunk.toString('latin1', from, to);
  });
  let unread = 0;
  for (let at = 0; at < bytes.length; at += size) {
    const piece = bytes.subarray(at, at + size);
    unread += piece.length - reader.read(piece, 0);
  }
  return { payload, isDone: reader.isDone, trailers: reader.trailers, unread };
}

describe('the body reader', () => {
  const CHUNKED = '3\r\nabc\r\nA\r\n0123456789\r\n0\r\nX-End: 1\r\n\r\n';

  it('finds payload, trailers and the end of chunks, split anywhere', () => {
    for (let size = 1; size <= CHUNKED.length; size += 1) {
      const read = readInPieces({ kind: 'chunked' }, `${CHUNKED}NEXT`, size);
      expect(read).toEqual({ payload: 'abc0123456789', isDone: true, trailers: ['X-End: 1'], unread: 4 });
    }
  });

  it('is not done before the last byte', () => {
    expect(readInPieces({ kind: 'chunked' }, CHUNKED.slice(0, -1), 5).isDone).toBe(false);
    expect(readInPieces({ kind: 'length', bytes: 4 }, 'abc', 2).isDone).toBe(false);
  });

  it('takes no more than the length, and nothing where there is no body', () => {
    expect(readInPieces({ kind: 'length', bytes: 3 }, 'abcNEXT', 2)).toMatchObject({ payload: 'abc', unread: 4 });
    expect(readInPieces({ kind: 'none' }, 'NEXT', 2)).toMatchObject({ payload: '', isDone: true, unread: 4 });
  });

  it.each([
    ['zz\r\nabc\r\n', 'malformed chunk size'],
    ['3\r\nabcd\r\n', 'longer than its size'],
    ['3\nabc\r\n', 'bare LF'],
  ])('refuses the chunks %j', (text, message) => {
    expect(() => readInPieces({ kind: 'chunked' }, text, 100)).toThrow(message);
  });
});

describe('the head reader', () => {
  it('returns the head and the bytes after it', () => {
    const reader = new HeadReader();
    expect(reader.read(Buffer.from('HTTP/1.1 200 OK\r\nX-A: b\r'))).toBeUndefined();
    expect(reader.hasBegun).toBe(true);
    const read = reader.read(Buffer.from('\nContent-Length: 3\r\n\r\nabc'));
    expect(read?.head.lines).toEqual(['HTTP/1.1 200 OK', 'X-A: b', 'Content-Length: 3']);
    expect(read?.head.field('x-a')).toBe('b');
    expect(read?.head.without('x-a')).toEqual(['HTTP/1.1 200 OK', 'Content-Length: 3']);
    expect(read?.head.framing(true)).toEqual({ kind: 'length', bytes: 3 });
    expect(read?.rest.toString()).toBe('abc');
  });
});

describe('frames', () => {
  it.each([0, 1, 125, 126, 65_535, 65_536])(
    'survive a round trip with %i bytes, masked or not, split anywhere',
    (bytes) => {
      const payload = Buffer.alloc(bytes, 'pattern');
      for (const mask of [undefined, 0x12345678]) {
        const wire = Buffer.concat([
          toFrame(OPCODES.binary, payload, mask),
          toFrame(OPCODES.text, Buffer.from('x'), mask),
        ]);
        const reader = new FrameReader(mask !== undefined);
        const size = bytes < 1_000 ? 3 : 10_007;
        const frames = [];
        for (let at = 0; at < wire.length; at += size) frames.push(...reader.read(wire.subarray(at, at + size)));
        expect(frames.map(({ opcode }) => opcode)).toEqual([OPCODES.binary, OPCODES.text]);
        expect(frames[0]?.payload.equals(payload)).toBe(true);
        expect(reader.hasBegun).toBe(false);
      }
    },
  );

  it('are refused without a mask', () => {
    expect(() => [...new FrameReader(true).read(toFrame(OPCODES.text, Buffer.from('abc')))]).toThrow(
      'unexpected flags or masking',
    );
  });
});
