import { describe, expect, it } from 'vitest';
import { ArchiveError, ArchiveReader } from '../../../src/state/archive/archive-reader.ts';
import { ArchiveWriter } from '../../../src/state/archive/archive-writer.ts';

const NOW = { savedNs: 1_000, savedAtNs: 1_000 };

function written(write: (out: ArchiveWriter) => void): Buffer {
  const out = new ArchiveWriter();
  write(out);
  return Buffer.concat(out.takeRest());
}

function readerOf(write: (out: ArchiveWriter) => void, passed = NOW): ArchiveReader {
  return new ArchiveReader(written(write), 0, passed);
}

describe('an archive', () => {
  it.each([0, 1, 127, 128, 16_383, 16_384, 2 ** 31 - 1, 2 ** 31, 2 ** 32 + 5, 2 ** 49, Number.MAX_SAFE_INTEGER])(
    'gives the count %d back',
    (value) => {
      const input = readerOf((out) => out.count(value));
      expect(input.count()).toBe(value);
      expect(input.isAtEnd).toBe(true);
    },
  );

  it.each([0, -0, 1.5, -1e-313, Number.MIN_VALUE, Number.MAX_VALUE, 0.1 + 0.2])('gives the number %d back', (value) => {
    expect(readerOf((out) => out.double(value)).double()).toBe(value);
  });

  it.each(['', 'E.Demo', 'Kotolňa 🔥', '\ud800', 'x\udc00y', '\u0000', 'x'.repeat(300_000)])(
    'gives texts back, whatever is in them',
    (text) => {
      const input = readerOf((out) => {
        out.text(text);
        out.flag(true);
      });
      expect(input.text()).toBe(text);
      expect(input.flag()).toBe(true);
    },
  );

  it('writes a name once', () => {
    const bytes = written((out) => {
      for (let i = 0; i < 100; i += 1) out.name(i % 2 === 0 ? 'E.Demo.TestInOut' : 'E.Demo.TestOut');
    });
    expect(bytes.length).toBeLessThan(140);
    const input = new ArchiveReader(bytes, 0, NOW);
    const names = Array.from({ length: 100 }, () => input.name());
    expect(new Set(names.filter((_, i) => i % 2 === 0))).toEqual(new Set(['E.Demo.TestInOut']));
    expect(names[99]).toBe('E.Demo.TestOut');
  });

  it('hands its bytes out in chunks, in their order', () => {
    const out = new ArchiveWriter();
    const chunks: Buffer[] = [];
    for (let i = 0; i < 400_000; i += 1) {
      out.count(i);
      for (const chunk of out.takeFull()) {
        chunks.push(Buffer.from(chunk));
        // Filled anew from here on.
        out.recycle(chunk);
      }
    }
    chunks.push(...out.takeRest());
    const input = new ArchiveReader(Buffer.concat(chunks), 0, NOW);
    expect(chunks.length).toBeGreaterThan(5);
    for (let i = 0; i < 400_000; i += 1) if (input.count() !== i) throw new Error(`count ${i}`);
    expect(input.isAtEnd).toBe(true);
  });

  it('moves moments to the clock of the reader, and none behind the moment of the writing', () => {
    const write = (out: ArchiveWriter) => {
      out.moment(700);
      out.momentIfAny(Number.POSITIVE_INFINITY);
      out.moment(1_200);
    };
    const input = readerOf(write, { savedNs: 1_000, savedAtNs: -50 });
    expect(input.moment()).toBe(-350);
    expect(input.momentIfAny()).toBe(Number.POSITIVE_INFINITY);
    expect(input.moment()).toBe(-50);
  });

  it('says where it ends too early or holds something else', () => {
    const bytes = written((out) => {
      out.count(300);
      out.double(2);
      out.text('abc');
      out.bytes(Buffer.from([1, 2, 3]));
      out.flag(false);
    });
    for (let length = 0; length < bytes.length; length += 1) {
      const input = new ArchiveReader(bytes.subarray(0, length), 0, NOW);
      const readAll = () => [input.count(), input.double(), input.text(), input.bytes(3), input.flag()];
      expect(readAll).toThrow(ArchiveError);
    }
    expect(() => readerOf((out) => out.count(2)).flag()).toThrow('expected a flag at byte 0');
    expect(() => readerOf((out) => out.double(Number.NaN)).double()).toThrow('expected a finite number');
    expect(() => readerOf((out) => out.count(3)).name()).toThrow('expected a name');
    expect(() => new ArchiveReader(Buffer.alloc(20, 0xff), 0, NOW).count()).toThrow('expected a count');
  });
});
