import { describe, expect, it } from 'vitest';
import { VerificationQueue } from '../../src/access/verification-queue.ts';

/** Starts turns whose work the test ends; tells in which order they began. */
class Stand {
  readonly queue = new VerificationQueue();
  readonly begun: string[] = [];
  readonly #ends = new Map<string, () => void>();

  start(id: string, address: string, isLimited = false): Promise<string | undefined> {
    return this.queue.run({ address, isLimited }, async () => {
      this.begun.push(id);
      await new Promise<void>((resolve) => this.#ends.set(id, resolve));
      return id;
    });
  }

  async end(id: string): Promise<void> {
    this.#ends.get(id)?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('the queue of verifications', () => {
  it('runs two at a time, and the rest address by address', async () => {
    const stand = new Stand();
    const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1'].map((id) => stand.start(id, id.slice(0, 1)));
    expect(stand.begun).toEqual(['a1', 'a2']);
    for (const id of ['a1', 'a2', 'a3', 'b1', 'c1', 'a4']) await stand.end(id);
    expect(stand.begun).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'a4']);
    expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'c1']);
    expect(stand.queue.size).toBe(0);
  });

  it('never gives all slots to addresses over their limit, and lets others go first', async () => {
    const stand = new Stand();
    const all = ['x1', 'x2', 'y1'].map((id) => stand.start(id, id.slice(0, 1), true));
    expect(stand.begun).toEqual(['x1']);
    all.push(stand.start('a1', 'a'), stand.start('a2', 'a'));
    expect(stand.begun).toEqual(['x1', 'a1']);
    await stand.end('x1');
    expect(stand.begun).toEqual(['x1', 'a1', 'a2']);
    await stand.end('a1');
    expect(stand.begun).toEqual(['x1', 'a1', 'a2', 'x2']);
    for (const id of ['a2', 'x2', 'y1']) await stand.end(id);
    expect((await Promise.all(all)).sort()).toEqual(['a1', 'a2', 'x1', 'x2', 'y1']);
  });

  it('refuses the fifth that waits of an address at once, and takes one of another', async () => {
    const stand = new Stand();
    const all = Array.from({ length: 6 }, (_, index) => stand.start(`a${index}`, 'a'));
    expect(await stand.start('late', 'a')).toBeUndefined();
    expect([stand.queue.size, stand.queue.refused]).toEqual([6, 1]);
    all.push(stand.start('b', 'b'));
    for (const id of ['a0', 'a1', 'a2', 'b', 'a3', 'a4', 'a5']) await stand.end(id);
    expect(await Promise.all(all)).toEqual(['a0', 'a1', 'a2', 'a3', 'a4', 'a5', 'b']);
  });

  it('holds a bounded number of them', async () => {
    const stand = new Stand();
    for (let index = 0; index < 600; index++) void stand.start(`${index}`, `address ${index}`);
    await Promise.resolve();
    expect(stand.queue.size).toBe(514);
    expect(stand.queue.refused).toBe(86);
  });

  it('gives the slot on when the work fails', async () => {
    const { queue } = new Stand();
    const turn = { address: 'a', isLimited: true };
    const failing = queue.run(turn, () => Promise.reject(new Error('out of memory')));
    const next = queue.run(turn, () => Promise.resolve('next'));
    await expect(failing).rejects.toThrow('out of memory');
    expect(await next).toBe('next');
  });
});
