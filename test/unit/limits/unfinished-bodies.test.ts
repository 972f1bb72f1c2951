import { expect, it } from 'vitest';
import { MemoryBudget } from '../../../src/limits/memory-budget.ts';
import { EvictableBodies, KEPT_BODY_BYTES, KeptBytes } from '../../../src/limits/unfinished-bodies.ts';
import { usedBytes } from '../../support/garbage.ts';

class Body {
  readonly kept: KeptBytes;
  hasGivenUp = false;

  constructor(bodies: EvictableBodies) {
    this.kept = new KeptBytes(1_000_000, bodies, this);
  }

  add(bytes: number): boolean {
    return this.kept.extend(bytes, bytes)?.fill(1) !== undefined;
  }

  giveUp(): void {
    this.hasGivenUp = true;
    this.kept.release();
  }
}

it('bodies that have come in part make room for others when there is none left, the oldest first', () => {
  const memory = new MemoryBudget(200_000);
  const bodies = new EvictableBodies(memory);
  const all = Array.from({ length: 4 }, () => new Body(bodies));
  const newest = new Body(bodies);
  for (const body of all) expect(body.add(25_000)).toBe(true);
  expect([newest.add(30_000), memory.used.bodies]).toEqual([true, 80_000 + 3 * KEPT_BODY_BYTES]);
  expect(all.map(({ hasGivenUp }) => hasGivenUp)).toEqual([true, true, false, false]);
});

it('bodies that have come in part are not asked once they have ended', () => {
  const memory = new MemoryBudget(200_000);
  const bodies = new EvictableBodies(memory);
  const [ended, open, newest] = [new Body(bodies), new Body(bodies), new Body(bodies)];
  ended.add(60_000);
  ended.kept.release();
  open.add(60_000);
  newest.add(60_000);
  expect([ended.hasGivenUp, open.hasGivenUp, memory.used.bodies]).toEqual([false, true, 60_000 + KEPT_BODY_BYTES]);
});

it('bodies that have come in part are not evicted for a large body', () => {
  const bodies = new EvictableBodies(new MemoryBudget(400_000));
  const [first, large] = [new Body(bodies), new Body(bodies)];
  first.add(150_000);
  expect([large.add(60_000), first.hasGivenUp]).toEqual([true, true]);
  const [second, third] = [new Body(bodies), new Body(bodies)];
  second.add(100_000);
  expect([third.add(70_000), second.hasGivenUp]).toEqual([false, false]);
});

it('bodies that come byte by byte take twice their length at most', () => {
  const memory = new MemoryBudget(2_000_000);
  const body = new Body(new EvictableBodies(memory));
  for (let i = 0; i < 10_000; i += 1) body.add(1);
  expect(body.kept.view()).toEqual(Buffer.alloc(10_000, 1));
  expect(memory.used.bodies).toBeLessThanOrEqual(20_000 + KEPT_BODY_BYTES);
});

it('bodies of one byte are charged what they really keep', async () => {
  const memory = new MemoryBudget(1_000_000_000);
  const bodies = new EvictableBodies(memory);
  const keepOne = () => {
    const body = new Body(bodies);
    body.add(1);
    // Other traffic between two bodies: a kept slice of a shared slab would keep all of this.
    for (let i = 0; i < 4; i += 1) Buffer.allocUnsafe(4_000);
    return body;
  };
  const before = await usedBytes();
  const kept = Array.from({ length: 5_000 }, keepOne);
  expect((await usedBytes()) - before).toBeLessThan(memory.used.bodies);
  expect(kept).toHaveLength(5_000);
});
