import { expect, it } from 'vitest';
import { MinuteCalls } from '../../../../src/measure/history/minute-calls.ts';

interface Counts {
  readonly row: number;
  ok: number;
  clientErrors: number;
  errors: number;
}

function counted(names: readonly string[] = []) {
  const counts = new Map<string, Counts>();
  const add = (name: string, added: Partial<Counts>) => {
    const known = counts.get(name) ?? { row: name === '' ? -1 : counts.size, ok: 0, clientErrors: 0, errors: 0 };
    for (const key of ['ok', 'clientErrors', 'errors'] as const) known[key] += added[key] ?? 0;
    counts.set(name, known);
  };
  for (const name of names) add(name, { ok: 10, errors: 10 });
  return { add, minute: new MinuteCalls(counts) };
}

it('the calls of the last minute name the one with the most failed calls, of all of its calls that ended', () => {
  const { add, minute } = counted(['E.Restored']);
  add('P.Balance.Year.Close', { ok: 60, clientErrors: 12, errors: 70 });
  add('E.Few', { errors: 3 });
  minute.take();
  add('P.Balance.Year.Close', { errors: 1 });
  minute.take();
  expect(minute.worst).toEqual({ name: 'P.Balance.Year.Close', failed: 71, ended: 143 });
});

it('the calls of the last minute forget a failure after 12 steps', () => {
  const { add, minute } = counted();
  add('E.Once', { ok: 1, errors: 1 });
  for (let step = 0; step < 11; step += 1) minute.take();
  add('E.Once', { ok: 5 });
  minute.take();
  expect(minute.worst).toEqual({ name: 'E.Once', failed: 1, ended: 7 });
  minute.take();
  expect(minute.worst).toBeUndefined();
});

it('the calls of the last minute name none when none failed, and never calls without a name', () => {
  const { add, minute } = counted(['']);
  add('', { errors: 5 });
  add('E.Fine', { ok: 5 });
  minute.take();
  expect(minute.worst).toBeUndefined();
});

it('the calls of the last minute include hundreds of names that appear later', () => {
  const { add, minute } = counted();
  for (let i = 0; i < 500; i += 1) {
    add(`E.Name${i}`, { ok: 1, errors: i === 477 ? 2 : 0 });
    if (i % 50 === 0) minute.take();
  }
  minute.take();
  expect(minute.worst).toEqual({ name: 'E.Name477', failed: 2, ended: 3 });
});
