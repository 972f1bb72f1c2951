import { expect, it } from 'vitest';
import { cpuUsOf, parseResidentBytes, parseStat, residentBytesOf, treeOf } from '../../../bench/load/proc.ts';

const line = (name: string) =>
  `42 (${name}) S 7 7 7 0 -1 4194304 900 5 0 0 120 30 4 6 20 0 11 0 5000 734003200 13500 18446744073709551615\n`;

it.each(['node', 'nginx: (w) 1 2'])('/proc has times with ended children, whatever the name: %s', (name) => {
  expect(parseStat(line(name))).toEqual({ pid: 42, parent: 7, cpuUs: 1_600_000 });
});

it('a malformed line of /proc is refused', () => {
  expect(() => parseStat('42 (node) S')).toThrow('no line of /proc');
});

it('a process has resident kilobytes, and a zombie none', () => {
  expect(parseResidentBytes('Name:\tnode\nVmRSS:\t    2048 kB\nRssAnon:\t 1 kB\n')).toBe(2_097_152);
  expect(parseResidentBytes('Name:\tnode\nState:\tZ (zombie)\n')).toBe(0);
});

it('a tree of processes holds children of children, and no other process', () => {
  const parents = { 1: 0, 30: 20, 20: 10, 10: 1, 11: 1, 21: 10 };
  const all = Object.entries(parents).map(([pid, parent]) => ({ pid: Number(pid), parent, cpuUs: 0 }));
  const pids = treeOf(10, all.reverse()).map(({ pid }) => pid);
  expect(pids.sort()).toEqual([10, 20, 21, 30]);
});

it('this process has figures, and one that has ended has none', () => {
  expect(cpuUsOf(process.pid)).toBeGreaterThan(0);
  expect(residentBytesOf(process.pid)).toBeGreaterThan(0);
  // Above any process id that Linux gives out (2^22).
  expect(() => cpuUsOf(5_000_000)).toThrow('has ended');
  expect(residentBytesOf(5_000_000)).toBe(0);
});
