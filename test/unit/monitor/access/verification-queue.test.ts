import { beforeEach, expect, it } from 'vitest';
import { VerificationQueue } from '../../../../src/monitor/access/verification-queue.ts';

let queue: VerificationQueue;
let begun: number[];
let ends: (() => void)[];
beforeEach(() => {
  queue = new VerificationQueue();
  begun = [];
  ends = [];
});

/** Verifications that the test ends. */
const startAll = (count: number, isPreferred = false, first = 0) =>
  Array.from({ length: count }, (_, id) =>
    queue.run(async () => {
      begun.push(first + id);
      await new Promise<void>((resolve) => ends.push(resolve));
      return first + id;
    }, isPreferred),
  );

/** Ends them in the order in which they began, until none is left. */
async function endAll(): Promise<void> {
  while (ends.length > 0) {
    ends.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

it('the queue of verifications runs one at a time, and the newest is next', async () => {
  const all = startAll(6);
  expect([begun, queue.isBusy]).toEqual([[0], true]);
  await endAll();
  expect(begun).toEqual([0, 5, 4, 3, 2, 1]);
  expect(await Promise.all(all)).toEqual([0, 1, 2, 3, 4, 5]);
  expect(queue.isBusy).toBe(false);
});

it('the queue of verifications holds a bounded number, and evicts the oldest', async () => {
  const all = startAll(200);
  await endAll();
  const outcomes = await Promise.all(all);
  expect(outcomes.flatMap((outcome, id) => (outcome === undefined ? [id] : []))).toEqual(
    Array.from({ length: 135 }, (_, index) => index + 1),
  );
});

it('the queue of verifications takes preferred ones first, and evicts them last', async () => {
  const flood = startAll(60);
  const preferred = startAll(30, true, 1_000);
  const later = startAll(60, false, 2_000);
  await endAll();
  expect(begun.slice(1, 31)).toEqual(Array.from({ length: 30 }, (_, index) => 1_029 - index));
  expect((await Promise.all(preferred)).every((outcome) => outcome !== undefined)).toBe(true);
  const served = [...(await Promise.all(flood)), ...(await Promise.all(later))].filter((id) => id !== undefined);
  expect(served).toHaveLength(1 + 64 - 30);
});

it('the queue of verifications goes on after work that fails', async () => {
  const failing = queue.run(() => Promise.reject(new Error('out of memory')));
  const next = queue.run(() => Promise.resolve('next'));
  await expect(failing).rejects.toThrow('out of memory');
  expect([await next, queue.isBusy]).toEqual(['next', false]);
});
