import { beforeEach, expect, it } from 'vitest';
import { VerificationQueue } from '../../../../src/monitor/access/verification-queue.ts';

/** Starts verifications that the test ends; tells in which order they began. */
class Stand {
  readonly failures = new Map<string, number>();
  readonly queue = new VerificationQueue<string>((address) => this.failures.get(address) ?? 0);
  readonly begun: string[] = [];
  readonly #ends = new Map<string, () => void>();

  /** `id` is the address and a number, e.g. `a1`. */
  start(id: string, credential = id): Promise<string | undefined> {
    return this.queue.run({ address: id.replace(/\d+$/, ''), credential }, async () => {
      this.begun.push(id);
      await new Promise<void>((resolve) => this.#ends.set(id, resolve));
      return id;
    });
  }

  startAll(...ids: readonly string[]): Promise<string | undefined>[] {
    return ids.map((id) => this.start(id));
  }

  async end(id: string | undefined): Promise<void> {
    this.#ends.get(id ?? '')?.();
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Ends them in the order in which they began, until none is left. */
  async endAll(): Promise<void> {
    for (let at = 0; at < this.begun.length; at++) await this.end(this.begun[at]);
  }
}

let stand: Stand;
beforeEach(() => {
  stand = new Stand();
});

it('the queue of verifications runs two at a time, and the newest is next', async () => {
  const all = stand.startAll('a1', 'a2', 'b1', 'c1', 'd1', 'e1');
  expect(stand.begun).toEqual(['a1', 'a2']);
  await stand.endAll();
  expect(stand.begun).toEqual(['a1', 'a2', 'e1', 'd1', 'c1', 'b1']);
  expect(await Promise.all(all)).toEqual(['a1', 'a2', 'b1', 'c1', 'd1', 'e1']);
  expect(stand.queue.size).toBe(0);
});

it('the queue of verifications puts an address that failed while it waited behind those that did not fail', async () => {
  void stand.startAll('x1', 'x2', 'failed1', 'a1', 'worse1', 'b1');
  stand.failures.set('failed', 1).set('worse', 2);
  await stand.endAll();
  expect(stand.begun).toEqual(['x1', 'x2', 'b1', 'a1', 'failed1', 'worse1']);
});

it('the queue of verifications evicts the oldest of four waiting ones of an address for its fifth', async () => {
  const all = stand.startAll('a0', 'a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'b1');
  expect([await all[2], stand.queue.size]).toEqual([undefined, 7]);
  await stand.endAll();
  expect(await Promise.all(all)).toEqual(['a0', 'a1', undefined, 'a3', 'a4', 'a5', 'a6', 'b1']);
});

it('the queue of verifications refuses all requests that share an evicted verification', async () => {
  void stand.startAll('x1', 'x2', 'a1');
  const shared = [stand.start('a2', 'a1'), stand.start('a3', 'a1')];
  void stand.startAll('a4', 'a5', 'a6', 'a7');
  expect(await Promise.all(shared)).toEqual([undefined, undefined]);
  await stand.endAll();
});

it('the queue of verifications holds a bounded number, and evicts the oldest', async () => {
  const all = Array.from({ length: 200 }, (_, index) => stand.start(`address-${index}-1`));
  expect(stand.queue.size).toBe(130);
  await stand.endAll();
  const outcomes = await Promise.all(all);
  expect(outcomes.flatMap((outcome, index) => (outcome === undefined ? [index] : []))).toEqual(
    Array.from({ length: 70 }, (_, index) => index + 2),
  );
});

it('the queue of verifications evicts from the address with the most failures', async () => {
  void stand.startAll('x1', 'x2');
  const first = stand.start('first1');
  stand.failures.set('failed', 1);
  const failed = stand.start('failed1');
  void stand.startAll(...Array.from({ length: 127 }, (_, index) => `address-${index}-1`));
  expect([await failed, stand.queue.size]).toEqual([undefined, 130]);
  expect(await stand.start('failed2'), 'one that has failed takes no place of one that has not').toBeUndefined();
  expect(stand.queue.size).toBe(130);
  await stand.endAll();
  expect(await first).toBe('first1');
});

it('the queue of verifications verifies the same credential of an address once for all its requests', async () => {
  const all = Array.from({ length: 17 }, (_, index) => stand.start(`a${index}`, 'same'));
  const other = stand.start('b0', 'same');
  expect(stand.begun).toEqual(['a0', 'b0']);
  await stand.endAll();
  expect(await Promise.all(all)).toEqual(Array<string>(17).fill('a0'));
  expect(await other).toBe('b0');
  const again = stand.start('a99', 'same');
  await stand.endAll();
  expect(await again).toBe('a99');
});

it('the queue of verifications frees its slot when the work fails', async () => {
  const { queue, failures } = stand;
  failures.set('a', 1);
  const failing = queue.run({ address: 'a', credential: '1' }, () => Promise.reject(new Error('out of memory')));
  const next = queue.run({ address: 'a', credential: '2' }, () => Promise.resolve('next'));
  await expect(failing).rejects.toThrow('out of memory');
  expect(await next).toBe('next');
  expect(queue.size).toBe(0);
});
