import { expect, it } from 'vitest';
import { NameSteps } from '../../../../src/measure/history/name-steps.ts';

const count = (name: string, number: number) => ({ name, count: number });

it('steps of names do not include what was counted before, and forget the oldest step', () => {
  const steps = new NameSteps(3, [count('E.Restored', 10)]);
  steps.take([count('E.Restored', 10), count('E.New', 2)]);
  steps.take([count('E.Restored', 14), count('E.New', 3)]);
  expect([steps.increasesOf('E.Restored'), steps.increasesOf('E.New')]).toEqual([
    [0, 0, 4],
    [0, 2, 1],
  ]);
  expect(steps.largest).toEqual(count('E.Restored', 4));
  for (let i = 0; i < 2; i += 1) steps.take([count('E.Restored', 14), count('E.New', 3)]);
  expect(steps.increasesOf('E.New')).toEqual([1, 0, 0]);
  expect(steps.increasesOf('E.Unknown')).toEqual([0, 0, 0]);
  steps.take([count('E.Restored', 14), count('E.New', 3)]);
  expect(steps.largest).toBeUndefined();
});

it('steps of names include hundreds of names that appear later', () => {
  const steps = new NameSteps(12, []);
  const counts: { name: string; count: number }[] = [];
  for (let i = 0; i < 500; i += 1) {
    counts.push(count(`E.Name${i}`, i === 477 ? 2 : 1));
    if (i % 50 === 49) steps.take(counts);
  }
  expect(steps.largest).toEqual(count('E.Name477', 2));
});

it('steps of a folded name move to another, and its later counts are new', () => {
  const steps = new NameSteps(3, []);
  steps.take([count('f', 5)]);
  steps.fold('f', '(other)');
  steps.fold('unknown', '(other)');
  steps.take([count('(other)', 6), count('f', 2)]);
  expect([steps.increasesOf('(other)'), steps.increasesOf('f')]).toEqual([
    [0, 5, 1],
    [0, 0, 2],
  ]);
});
