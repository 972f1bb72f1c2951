import { describe, expect, it } from 'vitest';
import { MAX_NAME_CHARS, NameBudget, NameTable, OTHER_NAME } from '../../../src/metrics/name-table.ts';

const createTable = (budget: NameBudget) => new NameTable(budget, (name) => ({ name }));

describe('NameTable', () => {
  it('gives each name its own entry up to the budget, then shares (other)', () => {
    const table = createTable(new NameBudget(2));
    expect(['a', 'b', 'c', 'a', 'd'].map((name) => table.admit(name).name)).toEqual([
      'a',
      'b',
      OTHER_NAME,
      'a',
      OTHER_NAME,
    ]);
    expect(table.foldedCount).toBe(2);
    expect([...table.entries.keys()]).toEqual(['a', 'b', OTHER_NAME]);
  });

  it('admits a name for an answer below 400 or from 500 on only', () => {
    const table = createTable(new NameBudget(10));
    for (const status of [400, 401, 404, 429, 499]) expect(table.forAnswer(`n${status}`, status)).toBeUndefined();
    for (const status of [101, 200, 304, 399, 500, 503])
      expect(table.forAnswer(`n${status}`, status)?.name).toBe(`n${status}`);
    expect(table.forAnswer('n200', 404)?.name).toBe('n200');
    expect(table.entries.size).toBe(6);
  });

  it('takes no budget for refused names', () => {
    const budget = new NameBudget(1);
    const table = createTable(budget);
    for (let i = 0; i < 1_000; i += 1) table.forAnswer(`scan${i}`, 404);
    expect(budget.used).toBe(0);
    expect(table.admit('real').name).toBe('real');
  });

  it('folds names longer than 512 characters without touching the budget', () => {
    const budget = new NameBudget(5);
    const table = createTable(budget);
    const long = 'x'.repeat(MAX_NAME_CHARS + 1);
    expect(table.find(long)).toBeUndefined();
    expect(table.admit(long).name).toBe(OTHER_NAME);
    expect(table.find(long)?.name).toBe(OTHER_NAME);
    expect(table.admit('x'.repeat(MAX_NAME_CHARS)).name).toHaveLength(MAX_NAME_CHARS);
    expect(budget.used).toBe(1);
  });

  it('shares (other) with a call of that name, outside the budget and not counted as folded', () => {
    const budget = new NameBudget(0);
    const table = createTable(budget);
    const wire = table.admit(OTHER_NAME);
    expect(table.foldedCount).toBe(0);
    expect(table.admit('folded')).toBe(wire);
    expect(table.foldedCount).toBe(1);
  });

  it('shares a budget with other tables', () => {
    const budget = new NameBudget(2);
    const [one, two] = [createTable(budget), createTable(budget)];
    expect([one.admit('a').name, two.admit('a').name, one.admit('b').name, two.admit('c').name]).toEqual([
      'a',
      'a',
      OTHER_NAME,
      OTHER_NAME,
    ]);
  });
});
