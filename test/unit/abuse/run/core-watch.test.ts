import { expect, it } from 'vitest';
import { parseBusyMs, parseStat } from '../../../support/load/proc.ts';

it('time counts as busy when it is user, nice, system or stolen time', () => {
  const stat = 'cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 10 2 30 400 5 6 7 8 0 0\ncpu1 9 9 9 9 9 9 9 9 0 0\nintr 1\n';
  expect(parseBusyMs(stat, 0)).toBe(500);
  expect(() => parseBusyMs(stat, 2)).toThrow();
});

it.each(['node', 'nginx: (w) 1 2'])(
  'the time of a process includes its ended children, whatever its name: %s',
  (name) => {
    const line = `42 (${name}) S 7 7 7 0 -1 4194304 900 5 0 0 120 30 4 6 20 0 11 0 5000 734003200 13500\n`;
    expect(parseStat(line)).toEqual({ pid: 42, parent: 7, cpuUs: 1_600_000 });
  },
);
