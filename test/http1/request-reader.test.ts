import { expect, it } from 'vitest';
import { RequestReader } from '../../src/http1/request-reader.ts';

const MAX_HEAD_BYTES = 131_072;

/** Time that looking for the end of a head takes when it comes byte by byte, from `from` to `to` bytes of it. */
function lookingMs(from: number, to: number): number {
  const reader = new RequestReader(MAX_HEAD_BYTES);
  const head = `GET / HTTP/1.1\r\nHost: a\r\nX-Long: ${'x'.repeat(MAX_HEAD_BYTES)}`;
  reader.append(Buffer.from(head.slice(0, from), 'latin1'));
  expect(reader.peek()).toBeUndefined();
  let spentMs = 0;
  for (let at = from; at < to; at += 1) {
    reader.append(Buffer.from(head[at] ?? '', 'latin1'));
    const beganMs = performance.now();
    reader.peek();
    spentMs += performance.now() - beganMs;
  }
  return spentMs;
}

it('looks at each byte of a head once, however slowly it comes', () => {
  lookingMs(1_000, 2_000);
  const early = lookingMs(1_000, 3_000);
  const late = lookingMs(100_000, 102_000);
  // Looked at from its beginning each time, it would be a hundred times as much.
  expect(late).toBeLessThan(early * 10 + 1);
});

it('finds the end of a head at whatever byte it was cut before', () => {
  const head = 'GET /a HTTP/1.1\r\nHost: a\r\n\r\n';
  for (let cut = 1; cut < head.length; cut += 1) {
    const reader = new RequestReader(1_000);
    reader.append(Buffer.from(head.slice(0, cut), 'latin1'));
    expect(reader.peek()).toBeUndefined();
    reader.append(Buffer.from(head.slice(cut), 'latin1'));
    expect(reader.peek()).toMatchObject({ method: 'GET', target: '/a' });
  }
});
