import { expect, it } from 'vitest';
import { CHUNKED, type Framing, lengthFraming, NO_BODY, UNTIL_CLOSE } from '../../../../src/protocol/http1/framing.ts';
import { PayloadReader } from '../../../../src/protocol/http1/payload-reader.ts';

const MAX_TRAILER_BYTES = 200;

/** Reads `pieces`, each with a byte on either side that is not of the body. */
function payloadsOf(framing: Framing, ...pieces: readonly string[]): string[] {
  const payloads: string[] = [];
  const reader = new PayloadReader(framing, MAX_TRAILER_BYTES, (bytes) => payloads.push(bytes.toString('latin1')));
  for (const piece of pieces) {
    const bytes = Buffer.from(`<${piece}>`, 'latin1');
    reader.read(bytes, 1, bytes.length - 1);
  }
  return payloads;
}

const CHUNKS = '3;a="4\\r";b\r\nabc\r\n00B\r\n0\r\n\r\n0\r\n\r\n\xff\r\n1\r\n!\r\n0;z\r\nX-Sum: 1\r\n\r\n';
const PAYLOAD = 'abc0\r\n\r\n0\r\n\r\n\xff!';

it.each([NO_BODY, lengthFraming(1), CHUNKED, UNTIL_CLOSE])('PayloadReader gives no empty piece (%o)', (framing) => {
  expect(payloadsOf(framing, '', '')).toEqual([]);
});

it('PayloadReader gives the chunks of one read without framing, extensions and trailers, small ones joined', () => {
  expect(payloadsOf(CHUNKED, CHUNKS)).toEqual([PAYLOAD]);
  const large = 'x'.repeat(0x800);
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const body = [large, 'a', 'b', large, 'c', large, large, 'd', 'e'].map(chunk).join('');
  expect(payloadsOf(CHUNKED, body)).toEqual([large, 'ab', large, 'c', large, large, 'de']);
});

it('PayloadReader removes the framing wherever the bytes are divided', () => {
  for (let split = 0; split <= CHUNKS.length; split += 1) {
    const payloads = payloadsOf(CHUNKED, CHUNKS.slice(0, split), CHUNKS.slice(split));
    expect(payloads).not.toContain('');
    expect(payloads.join('')).toBe(PAYLOAD);
  }
  expect(payloadsOf(CHUNKED, ...CHUNKS)).toEqual([...PAYLOAD]);
});
