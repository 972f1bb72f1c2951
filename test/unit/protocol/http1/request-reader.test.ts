import { afterEach, expect, it, vi } from 'vitest';
import { RequestReader, TrailerFilter } from '../../../../src/protocol/http1/request-reader.ts';
import { countCopied } from '../../../support/protocol/count-copied.ts';

const MAX_HEAD_BYTES = 131_072;

/** Time that looking for the end of a head takes when it comes byte by byte, from `from` to `to` bytes of it. */
function lookingMs(from: number, to: number): number {
  const reader = new RequestReader(MAX_HEAD_BYTES);
  const head = `GET / HTTP/1.1\r\nHost: a\r\nX-Long: ${'x'.repeat(MAX_HEAD_BYTES)}`;
  reader.append(Buffer.from(head.slice(0, from), 'latin1'));
  expect(reader.nextHead()).toBeUndefined();
  let spentMs = 0;
  for (let at = from; at < to; at += 1) {
    reader.append(Buffer.from(head[at] ?? '', 'latin1'));
    const beganMs = performance.now();
    reader.nextHead();
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

afterEach(() => {
  vi.restoreAllMocks();
});

it('copies what waits twice at most, and the packet itself, however it comes', () => {
  const reader = new RequestReader(MAX_HEAD_BYTES);
  const head = Buffer.from(`GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(65_500)}\r\n\r\n`, 'latin1');
  const copied = countCopied();
  for (let at = 0; at < head.length; at += 1) reader.append(head.subarray(at, at + 1));
  // All that there was with each packet would be 2.1 GB.
  expect(copied()).toBeLessThan(3 * head.length);
  expect(reader.unread.equals(head)).toBe(true);
  expect(reader.keptBytes).toBeLessThan(2 * head.length);
});

it('keeps requests whole that wait, are begun and are added to in turns, cut at every byte', () => {
  const body = 'POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc';
  const get = 'GET /a HTTP/1.1\r\nHost: a\r\n\r\n';
  const all = (get + body).repeat(6);
  for (let size = 1; size < all.length; size += 1) {
    const reader = new RequestReader(1_000);
    let passed = '';
    for (let at = 0; at < all.length; at += size) {
      const bytes = Buffer.from(all.slice(at, at + size), 'latin1');
      if (reader.isDone) reader.append(bytes);
      else passed += reader.continue(bytes)?.toString('latin1') ?? '';
      // Every other time what has come waits.
      if ((at / size) % 2 === 0 && at + size < all.length) continue;
      for (let head = reader.nextHead(); reader.isDone && typeof head === 'object'; head = reader.nextHead()) {
        passed += reader.begin(head)?.toString('latin1') ?? '';
      }
    }
    expect(passed).toBe(all);
  }
});

it('a trailer filter holds back no more than the longest name that it removes', () => {
  const filter = new TrailerFilter(new Set(['client-cert']));
  let passed = 0;
  for (let sent = 1; sent <= 2_000; sent += 1) {
    passed += filter.filter(Buffer.from('x')).length;
    expect(sent - passed).toBeLessThanOrEqual('client-cert'.length + 1);
  }
});
