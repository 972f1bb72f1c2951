import { constants, createDeflateRaw, deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { MemoryBudget } from '../../../../src/limits/memory-budget.ts';
import { OPCODE } from '../../../../src/protocol/websocket/frame-head.ts';
import {
  compressed,
  deflated,
  deflatedFinal,
  frame,
  Listener,
  text,
  told,
  WITH_TAKEOVER,
  WITHOUT_TAKEOVER,
} from '../../../support/protocol/websocket/frames.ts';

const TAKEOVER = { deflate: WITH_TAKEOVER };
const NO_TAKEOVER = { deflate: WITHOUT_TAKEOVER };
/** Both kinds of directions. */
const ALL = [TAKEOVER, NO_TAKEOVER];
const EMPTY_STORED_BLOCK = Buffer.from([0x00, 0x00, 0x00, 0xff, 0xff]);
const hex = (bytes: string): Buffer => Buffer.from(bytes.replaceAll(' ', ''), 'hex');

/** One after the other, each referring to the ones before. */
async function deflatedTogether(contents: readonly string[], windowBits = 15): Promise<Buffer[]> {
  const deflate = createDeflateRaw({ windowBits });
  const chunks: Buffer[] = [];
  deflate.on('data', (chunk: Buffer) => chunks.push(chunk));
  const payloads: Buffer[] = [];
  for (const content of contents) {
    deflate.write(content);
    await new Promise<void>((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, () => resolve()));
    payloads.push(Buffer.concat(chunks.splice(0)).subarray(0, -4));
  }
  deflate.destroy();
  return payloads;
}

describe('the examples of RFC 7692 §7.2.3', () => {
  it('one compressed block, whole and in fragments', () => {
    const whole = hex('c1 07 f2 48 cd c9 c9 07 00');
    const fragments = hex('41 03 f2 48 cd 80 04 c9 c9 07 00');
    for (const options of ALL) {
      expect(told(whole, options)).toEqual([{ text: 'Hello' }]);
      expect(told(fragments, options)).toEqual([{ text: 'Hello' }]);
    }
  });

  it('a second message that refers to the first', () => {
    const bytes = hex('c1 07 f2 48 cd c9 c9 07 00 c1 05 f2 00 11 00 00');
    expect(told(bytes, TAKEOVER)).toEqual([{ text: 'Hello' }, { text: 'Hello' }]);
  });

  it('a block without compression, one with BFINAL set, and two blocks', () => {
    const stored = hex('c1 0b 00 05 00 fa ff 48 65 6c 6c 6f 00');
    const final = hex('c1 08 f3 48 cd c9 c9 07 00 00');
    const two = hex('c1 0d f2 48 05 00 00 00 ff ff ca c9 c9 07 00');
    for (const options of ALL) {
      for (const bytes of [stored, final, two]) expect(told(bytes, options)).toEqual([{ text: 'Hello' }]);
    }
  });
});

describe('a compressed message', () => {
  it('may refer as far back as the window goes, and no further than its direction agreed', async () => {
    // Noise in the middle, so that only the far repetition can be referred to.
    const noise = Array.from({ length: 40_000 }, (_, i) => String.fromCharCode(33 + ((i * i * 7919 + (i >> 3)) % 90)));
    for (const windowBits of [8, 9, 10, 11, 12, 13, 14, 15]) {
      const size = 1 << windowBits;
      const far = noise.slice(0, Math.max(20, size - 262)).join('');
      const contents = ['start', far, far.slice(0, 200), `${far}${far}`, 'end', far.slice(-100)];
      const listener = new Listener({ deflate: { contextTakeover: true, windowBits } });
      for (const payload of await deflatedTogether(contents, windowBits)) listener.push(compressed(payload));
      expect(listener.texts).toEqual(contents);
      expect(listener.reader.heldBytes).toBeLessThanOrEqual(Math.max(512, size) * 1.125);
    }
  });

  it('may refer back by exactly 32,768 bytes', () => {
    const first = Buffer.alloc(32_768, 'ab"cd'.repeat(13));
    first.write('the very first bytes', 0);
    // Fixed codes: length 258 (285), distance 24,577 + 8,191 = 32,768 (code 29, 13 extra bits all set), end of block.
    const bits = `0${'01'.split('').reverse().join('')}${'11000101'}${'11101'}${'1'.repeat(13)}${'0000000'}000`;
    const payload = Buffer.alloc(Math.ceil(bits.length / 8));
    for (const [i, bit] of [...bits].entries())
      payload[i >> 3] = (payload[i >> 3] as number) | (Number(bit) << (i & 7));
    const listener = new Listener(TAKEOVER).push(compressed(deflated(first)), compressed(payload));
    expect(listener.texts[1]).toBe(first.toString('latin1', 0, 258));
  });

  it('may be binary: it is not reported, but later ones may refer to it', async () => {
    const [first, second] = (await deflatedTogether(['said before, said before', 'said before again'])) as [
      Buffer,
      Buffer,
    ];
    const binary = frame({ opcode: OPCODE.binary, payload: first, rsv: 4 });
    expect(told(Buffer.concat([binary, compressed(second)]), TAKEOVER)).toEqual([
      { event: 'binary' },
      { text: 'said before again' },
    ]);
    expect(told(Buffer.concat([binary, compressed(deflated('x'))]), NO_TAKEOVER)).toEqual([
      { event: 'binary' },
      { text: 'x' },
    ]);
  });

  it('may stand between messages that are not compressed', async () => {
    const [first, second] = (await deflatedTogether(['one one one', 'one one two'])) as [Buffer, Buffer];
    const bytes = Buffer.concat([compressed(first), text('plain'), compressed(second)]);
    expect(told(bytes, TAKEOVER)).toEqual([{ text: 'one one one' }, { text: 'plain' }, { text: 'one one two' }]);
  });

  it('may be empty', () => {
    const bytes = Buffer.concat([compressed(Buffer.from([0])), compressed(deflated('')), compressed(deflated('x'))]);
    for (const options of ALL) expect(told(bytes, options)).toEqual([{ text: '' }, { text: '' }, { text: 'x' }]);
  });

  it('may have no bytes at all, but context takeover ends with it', () => {
    const bytes = Buffer.concat([compressed(''), compressed(deflated('x'))]);
    expect(told(bytes, NO_TAKEOVER)).toEqual([{ text: '' }, { text: 'x' }]);
    expect(told(bytes, TAKEOVER)).toEqual([{ text: '' }, { unread: 'malformed' }]);
  });

  it('may have empty stored blocks anywhere', () => {
    const payload = Buffer.concat([EMPTY_STORED_BLOCK, EMPTY_STORED_BLOCK, deflated('Hello')]);
    const trailing = Buffer.concat([
      deflateRawSync('Hello', { finishFlush: constants.Z_SYNC_FLUSH }),
      Buffer.from([0]),
    ]);
    for (const options of ALL) {
      expect(told(compressed(payload), options)).toEqual([{ text: 'Hello' }]);
      expect(told(compressed(trailing), options)).toEqual([{ text: 'Hello' }]);
    }
  });

  it('may consist of several streams, each ended by BFINAL, with or without an empty block after it', () => {
    const streams = [deflatedFinal('one '), deflatedFinal('two '), deflatedFinal('three')];
    for (const end of ['', '00']) {
      const payload = Buffer.concat([...streams, hex(end)]);
      const bytes = Buffer.concat([compressed(payload), compressed(deflated('after'))]);
      for (const options of ALL) expect(told(bytes, options)).toEqual([{ text: 'one two three' }, { text: 'after' }]);
    }
  });

  it('of more streams than anyone sends is not inflated: each costs time, however short', () => {
    const bytes = compressed(Buffer.alloc(20_000, deflatedFinal('')));
    expect(told(bytes, NO_TAKEOVER)).toEqual([{ unread: 'malformed' }]);
  });

  it('cannot refer to what was before BFINAL', async () => {
    const [first, second] = (await deflatedTogether(['said before', 'said before'])) as [Buffer, Buffer];
    const bytes = [compressed(first), compressed(deflatedFinal('x')), compressed(second)];
    expect(told(Buffer.concat(bytes), TAKEOVER)).toEqual([
      { text: 'said before' },
      { text: 'x' },
      { unread: 'malformed' },
    ]);
  });

  it('may be fragmented anywhere, between control frames, and pushed in any pieces', async () => {
    const contents = ['first message', 'second message, first message', 'third'];
    const payloads = await deflatedTogether(contents);
    for (let size = 1; size < 40; size += 1) {
      const frames: Buffer[] = [];
      for (const payload of payloads) {
        frames.push(text(payload.subarray(0, size), { rsv: 4, fin: false }), frame({ opcode: 0x9, payload: 'ping' }));
        frames.push(frame({ opcode: 0, payload: payload.subarray(size) }));
      }
      const listener = new Listener(TAKEOVER).pushPieces(Buffer.concat(frames), () => size);
      expect(listener.texts).toEqual(contents);
    }
  });
});

describe('a message that does not inflate', () => {
  const wrong: Readonly<Record<string, Buffer>> = {
    'a block of the reserved type': Buffer.from([0x07, 0x00]),
    'a block that is cut off': deflated('Hello, Hello, Hello').subarray(0, 6),
    'a stored block that is cut off': hex('00 05 00 fa ff 48 65'),
    'a stored block that goes on into what follows': hex('00 07 00 f8 ff 48 65'),
    'a stored block that ends within what follows': hex('00 0e 00 f1 ff 48 65'),
    'a stored block that ends with what follows': hex('00 0f 00 f0 ff 48 65'),
    'a stored block that was cut off by much': hex('00 ff 00 00 ff 48 65'),
    'a reference to before the beginning': hex('f2 00 11 00 00'),
    'a stream that ends outside of the payload': deflatedFinal('Hello, Hello').subarray(0, -1),
    'an end that was not taken off': deflateRawSync('Hello', { finishFlush: constants.Z_SYNC_FLUSH }),
  };

  for (const [name, payload] of Object.entries(wrong)) {
    it(`${name}: is lost alone without context takeover, and with it ends the reading`, () => {
      const bytes = Buffer.concat([compressed(payload), compressed(deflated('after'))]);
      expect(told(bytes, NO_TAKEOVER)).toEqual([{ unread: 'malformed' }, { text: 'after' }]);
      expect(told(bytes, TAKEOVER)).toEqual([{ unread: 'malformed' }]);
    });
  }

  it('is lost for its size in the same way', () => {
    const bytes = Buffer.concat([compressed(deflated('x'.repeat(1_001))), compressed(deflated('x'.repeat(1_000)))]);
    const limits = { maxInflatedBytes: 1_000 };
    expect(told(bytes, { ...NO_TAKEOVER, ...limits })).toEqual([
      { unread: 'inflated-too-large' },
      { text: 'x'.repeat(1_000) },
    ]);
    expect(told(bytes, { ...TAKEOVER, ...limits })).toEqual([{ unread: 'inflated-too-large' }]);
  });

  it('has one limit for all streams of a message together', () => {
    const payload = Buffer.concat([deflatedFinal('x'.repeat(600)), deflatedFinal('y'.repeat(600))]);
    const options = { ...NO_TAKEOVER, maxInflatedBytes: 1_000 };
    expect(told(compressed(payload), options)).toEqual([{ unread: 'inflated-too-large' }]);
    expect(told(compressed(payload), { ...options, maxInflatedBytes: 1_200 })).toHaveLength(1);
    expect(told(compressed(deflatedFinal('x'.repeat(1_002))), options)).toEqual([{ unread: 'inflated-too-large' }]);
  });

  it('may be too large on the wire: with context takeover that ends the reading at once', () => {
    const bytes = Buffer.concat([compressed('x'.repeat(101)), compressed(deflated('after'))]);
    const limits = { maxMessageBytes: 100 };
    expect(told(bytes, { ...NO_TAKEOVER, ...limits })).toEqual([{ unread: 'too-large' }, { text: 'after' }]);
    expect(told(bytes, { ...TAKEOVER, ...limits })).toEqual([{ unread: 'too-large' }]);
  });

  it('may inflate to no UTF-8: later messages are read all the same', () => {
    const bytes = Buffer.concat([compressed(deflated(Buffer.from([0xff]))), compressed(deflated('after'))]);
    for (const options of ALL) expect(told(bytes, options)).toEqual([{ unread: 'text' }, { text: 'after' }]);
  });
});

describe('the window', () => {
  it('is held only with context takeover, and is no larger than the messages', () => {
    const without = new Listener(NO_TAKEOVER).push(compressed(deflated('x'.repeat(60_000))));
    expect(without.reader.heldBytes).toBe(0);
    const withIt = new Listener(TAKEOVER).push(compressed(deflated('Hello')));
    expect(withIt.reader.heldBytes).toBe(1_024);
    withIt.push(compressed(deflated('x'.repeat(60_000))));
    expect(withIt.reader.heldBytes).toBe(36_864);
    expect(withIt.budget.usedBytes).toBe(36_864);
    withIt.reader.close();
    expect([withIt.reader.heldBytes, withIt.budget.usedBytes]).toEqual([0, 0]);
  });

  it('without memory ends the reading after the current message', () => {
    const budget = new MemoryBudget(2_048);
    const first = new Listener({ ...TAKEOVER, budget }).push(compressed(deflated('Hello')));
    const second = new Listener({ ...TAKEOVER, budget }).push(compressed(deflated('Hello')), compressed(deflated('x')));
    expect(second.told).toEqual([{ text: 'Hello' }, { unread: 'budget' }]);
    first.push(compressed(deflated('again')));
    expect(first.texts).toEqual(['Hello', 'again']);
    expect([budget.usedBytes, budget.refusals.windows]).toEqual([1_024, 1]);
  });

  it('is given back when the reading ends', () => {
    const listener = new Listener(TAKEOVER).push(compressed(deflated('Hello')), text('', { rsv: 2 }));
    expect([listener.told.at(-1), listener.budget.usedBytes]).toEqual([{ unread: 'malformed' }, 0]);
  });
});
