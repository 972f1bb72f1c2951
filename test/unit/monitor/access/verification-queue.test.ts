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
const startAll = (count: number) =>
  Array.from({ length: count }, (_, id) =>
    queue.run(async () => {
      begun.push(id);
      await new Promise<void>((resolve) => ends.push(resolve));
      return id;
    }),
  );

/** Ends them in the order in which they began, until none is left. */
async function endAll(): Promise<void> {
  while (ends.length > 0) {
    ends.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

it('the queue of verifications runs two at a time, and the newest is next', async () => {
  const all = startAll(6);
  expect([begun, queue.isBusy]).toEqual([[0, 1], true]);
  await endAll();
  expect(begun).toEqual([0, 1, 5, 4, 3, 2]);
  expect(await Promise.all(all)).toEqual([0, 1, 2, 3, 4, 5]);
  expect(queue.isBusy).toBe(false);
});

it('the queue of verifications holds a bounded number, and evicts the oldest', async () => {
  const all = startAll(200);
  await endAll();
  const outcomes = await Promise.all(all);
  expect(outcomes.flatMap((outcome, id) => (outcome === undefined ? [id] : []))).toEqual(
    Array.from({ length: 134 }, (_, index) => index + 2),
  );
});

it('the queue of verifications frees its slot when the work fails', async () => {
  const [, running] = startAll(2);
  const failing = queue.run(() => Promise.reject(new Error('out of memory')));
  const next = queue.run(() => Promise.resolve('next'));
  await Promise.all([expect(failing).rejects.toThrow('out of memory'), endAll()]);
  expect([await next, await running, queue.isBusy]).toEqual(['next', 1, false]);
});
