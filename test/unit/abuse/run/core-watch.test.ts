import { expect, it } from 'vitest';
import { parseBusyMs } from '../../../support/load/figures.ts';

it('time counts as busy when it is user, nice, system or stolen time', () => {
  const stat = 'cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 10 2 30 400 5 6 7 8 0 0\ncpu1 9 9 9 9 9 9 9 9 0 0\nintr 1\n';
  expect(parseBusyMs(stat, 0)).toBe(500);
  expect(() => parseBusyMs(stat, 2)).toThrow();
});
