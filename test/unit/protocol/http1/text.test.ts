import { expect, it } from 'vitest';
import { detached } from '../../../../src/protocol/http1/text.ts';
import { collectGarbage, usedBytes } from '../../../support/garbage.ts';

const HEADS = 64;
const HEAD_BYTES = 256 * 1024;
const MIB = 1024 * 1024;

/** Bytes of the heap that stay in use because of what `keep` keeps of each of 64 heads of 256 KiB. */
function bytesHeldBy(keep: (path: string) => string): number {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const kept: string[] = [];
  for (let i = 0; i < HEADS; i += 1) {
    const head = Buffer.alloc(HEAD_BYTES, `GET /a/path/of/some/length/${i} HTTP/1.1\r\n`).toString('latin1');
    kept.push(keep(head.slice(4, 30)));
  }
  collectGarbage();
  const held = process.memoryUsage().heapUsed - before;
  expect(new Set(kept.map((text) => text.slice(0, 5)))).toEqual(new Set(['/a/pa']));
  return held;
}

it('a detached text does not keep the head it was cut from, as a slice does', async () => {
  // Frees what earlier test files have left, so that it is not freed during a measurement.
  await usedBytes();
  expect(bytesHeldBy((path) => path)).toBeGreaterThan((HEADS * HEAD_BYTES) / 2);
  expect(bytesHeldBy(detached)).toBeLessThan(2 * MIB);
  expect(bytesHeldBy((path) => detached(`${path}.${path}`))).toBeLessThan(2 * MIB);
});
