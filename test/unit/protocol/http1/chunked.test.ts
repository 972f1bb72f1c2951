import { expect, it } from 'vitest';
import { ChunkedReader, MALFORMED, MORE } from '../../../../src/protocol/http1/framing.ts';
import { usedBytes } from '../../../support/garbage.ts';

const MAX_TRAILER_BYTES = 200;

function read(text: string): number {
  const bytes = Buffer.from(text, 'latin1');
  return new ChunkedReader(MAX_TRAILER_BYTES).read(bytes, 0, bytes.length);
}

it.each([
  ...['0\r\n\r\n', '5\r\nhello\r\n0\r\n\r\n', '5;a;b=c;d="e \\" f"\r\nhello\r\n0;last\r\n\r\n'],
  ...['5 \r\nhello\r\n0\t\r\n\r\n', '5 ; a = b\t;c ; d = "e f" \r\nhello\r\n0 ;\ta\r\n\r\n'],
  ...['00005\r\nhello\r\n000\r\n\r\n', 'a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\nX-A: 1\r\nx-b:\r\n\r\n'],
])('ChunkedReader finds the end of %j at every split', (text) => {
  const bytes = Buffer.from(`${text}GET`, 'latin1');
  for (let split = 0; split < text.length; split += 1) {
    const reader = new ChunkedReader(MAX_TRAILER_BYTES);
    expect(reader.read(bytes, 0, split)).toBe(MORE);
    expect(reader.read(bytes, split, bytes.length)).toBe(text.length);
  }
});

it.each([
  ['a size beyond any chunk', 'fffffffffffff\r\n'],
  ['endless zeros', `${'0'.repeat(MAX_TRAILER_BYTES + 10)}`],
  ['endless extensions', `1;${'a'.repeat(MAX_TRAILER_BYTES + 1)}`],
  ['endless trailers', `0\r\n${'X: 1\r\n'.repeat(60)}`],
])('ChunkedReader refuses %s', (_what, text) => {
  expect(read(text)).toBe(MALFORMED);
});

it('ChunkedReader keeps little of the name of a trailer that comes byte by byte', async () => {
  const name = Buffer.from(`0\r\n${'a'.repeat(60_000)}`, 'latin1');
  const before = await usedBytes();
  const readers = Array.from({ length: 20 }, () => {
    const reader = new ChunkedReader(65_536);
    for (let at = 0; at < name.length; at += 1) reader.read(name, at, at + 1);
    return reader;
  });
  // Each character of a text that grows by characters takes 32 bytes: that would be 1.9 MB for each.
  expect(((await usedBytes()) - before) / readers.length).toBeLessThan(100_000);
});
