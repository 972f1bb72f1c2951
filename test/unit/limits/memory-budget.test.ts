import { expect, it } from 'vitest';
import { MemoryBudget } from '../../../src/limits/memory-budget.ts';

it('gives a kind at most half of what there is, all or nothing, and counts refusals by kind', () => {
  const budget = new MemoryBudget(200);
  const taken = [60, 41, 40, 1].map((bytes) => budget.take('bodies', bytes));
  expect(taken).toEqual([true, false, true, false]);
  budget.giveBack('bodies', 60);
  expect([budget.used.bodies, budget.refusals.bodies, budget.take('bodies', 60)]).toEqual([40, 2, true]);
});

it('never gives more than there is, all kinds together', () => {
  const budget = new MemoryBudget(200);
  const taken = [budget.take('bodies', 100), budget.take('windows', 90), budget.take('requests', 11)];
  expect([taken, budget.usedBytes, budget.refusals.requests]).toEqual([[true, true, false], 190, 1]);
});

it('counts what is taken anyway against the others', () => {
  const budget = new MemoryBudget(200);
  budget.takeAnyway('requests', 150);
  expect([budget.take('bodies', 51), budget.take('bodies', 50), budget.usedBytes]).toEqual([false, true, 200]);
});

it('gives nothing more under a smaller maximum until enough has come back', () => {
  const budget = new MemoryBudget(200);
  budget.take('windows', 80);
  budget.maxBytes = 100;
  expect(budget.take('bodies', 30)).toBe(false);
  budget.giveBack('windows', 40);
  expect(budget.take('bodies', 30)).toBe(true);
});
