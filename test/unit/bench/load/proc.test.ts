import { describe, expect, it } from 'vitest';
import { cpuUsOf, parseResidentBytes, parseStat, residentBytesOf, treeOf } from '../../../bench/load/proc.ts';

const line = (pid: number, name: string, parent: number) =>
  `${pid} (${name}) S ${parent} 7 7 0 -1 4194304 900 5 0 0 120 30 4 6 20 0 11 0 5000 734003200 13500 18446744073709551615\n`;

describe('/proc', () => {
  it.each(['node', 'nginx: (w) 1 2'])(
    'has times with ended children, in microseconds, whatever the name: %s',
    (name) => {
      expect(parseStat(line(42, name, 7))).toEqual({ pid: 42, parent: 7, cpuUs: 1_600_000 });
    },
  );

  it('is refused when malformed', () => {
    expect(() => parseStat('42 (node) S')).toThrow('no line of /proc');
  });

  it('has resident kilobytes, and none for a zombie', () => {
    expect(parseResidentBytes('Name:\tnode\nVmRSS:\t    2048 kB\nRssAnon:\t 1 kB\n')).toBe(2_097_152);
    expect(parseResidentBytes('Name:\tnode\nState:\tZ (zombie)\n')).toBe(0);
  });
});

it('a tree of processes holds children of children, and no other process', () => {
  const parents = { 1: 0, 30: 20, 20: 10, 10: 1, 11: 1, 21: 10 };
  const all = Object.entries(parents).map(([pid, parent]) => ({ pid: Number(pid), parent, cpuUs: 0 }));
  const pids = treeOf(10, all.reverse()).map(({ pid }) => pid);
  expect(pids.sort()).toEqual([10, 20, 21, 30]);
});

describe('the figures of this process', () => {
  it('include processor time, which grows with work', () => {
    const before = cpuUsOf(process.pid);
    // Longer than three ticks of 10 ms.
    const end = process.cpuUsage().user + 30_000;
    while (process.cpuUsage().user < end) Math.sqrt(end);
    expect(cpuUsOf(process.pid)).toBeGreaterThan(before);
  });

  it('include about the resident memory that Node reports', () => {
    const told = process.memoryUsage.rss();
    const ratio = residentBytesOf(process.pid) / told;
    expect(ratio).toBeGreaterThan(0.8);
    expect(ratio).toBeLessThan(1.5);
  });

  it('differ from those of a process that has ended', () => {
    // Above any process id that Linux gives out (2^22).
    expect(() => cpuUsOf(5_000_000)).toThrow('has ended');
    expect(residentBytesOf(5_000_000)).toBe(0);
  });
});
