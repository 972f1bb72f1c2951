import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { showProgress } from '../../../src/base/progress.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it.each([
  ['nothing about work of less than two seconds', 1_900, []],
  ['every two seconds that work goes on', 4_100, ['d2-sidecar: waiting, 2 s\n', 'd2-sidecar: waiting, 4 s\n']],
])('showProgress prints %s, and ends with it', async (_what, ms, lines) => {
  const printed: string[] = [];
  const work = new Promise((resolve) => setTimeout(resolve, ms, 'done'));
  const shown = showProgress((text) => printed.push(text), 'waiting', work);
  await vi.advanceTimersByTimeAsync(ms);
  expect(await shown).toBe('done');
  await vi.advanceTimersByTimeAsync(10_000);
  expect(printed).toEqual(lines);
});
