import { expect, it } from 'vitest';
import { DEFAULT_BUDGET_BYTES, MemoryBudget } from '../../src/websocket/memory-budget.ts';

it('gives out no more than it has, all or nothing, and counts whom it refused', () => {
  const budget = new MemoryBudget(100);
  expect([budget.take(60), budget.take(41), budget.take(40), budget.take(1)]).toEqual([true, false, true, false]);
  budget.give(60);
  expect([budget.usedBytes, budget.refusals, budget.take(60)]).toEqual([40, 2, true]);
});

it('has 64 MiB unless told otherwise', () => {
  expect([new MemoryBudget().maxBytes, DEFAULT_BUDGET_BYTES]).toEqual([67_108_864, 67_108_864]);
});
