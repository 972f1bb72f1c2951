/** Processor time and memory of a process and its descendants, from /proc (proc(5)). */
import { readdirSync, readFileSync } from 'node:fs';

/** USER_HZ: the unit of /proc on every Linux, whatever the kernel's own tick is. */
const TICKS_PER_S = 100;
const US_PER_TICK = 1e6 / TICKS_PER_S;

export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  /** In user and system mode, all threads, with ended children that were waited for. */
  readonly cpuUs: number;
}

/**
 * One line of /proc/<pid>/stat, e.g. `7 (nginx: (w)) S 1 ... 12 3 0 0 ...`. The name may hold spaces and brackets, so fields
 * are counted from the last `)`. Throws for a malformed line.
 */
export function parseStat(line: string): ProcessStat {
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  const ticks = field(14) + field(15) + field(16) + field(17);
  const stat = { pid: Number.parseInt(line, 10), parent: field(4), cpuUs: ticks * US_PER_TICK };
  if (!Object.values(stat).every(Number.isFinite)) throw new Error(`no line of /proc/<pid>/stat: ${line}`);
  return stat;
}

/** Resident memory in bytes from /proc/<pid>/status; 0 for an ended process, which has no such line. */
function parseResidentBytes(status: string): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}

/** The process `root` and its descendants, out of all processes. */
function treeOf(root: number, all: readonly ProcessStat[]): ProcessStat[] {
  const tree = all.filter(({ pid }) => pid === root);
  // Grows during iteration: children of children follow.
  for (const { pid } of tree) tree.push(...all.filter(({ parent }) => parent === pid));
  return tree;
}

/** Processor time so far of a process and its descendants. Throws when it is gone. */
export function cpuUsOf(pid: number): number {
  const tree = readTree(pid);
  if (tree.length === 0) throw new Error(`process ${pid} has ended`);
  return tree.reduce((sum, { cpuUs }) => sum + cpuUs, 0);
}

/** Current resident memory of a process and its descendants; shared pages count for each. */
export function residentBytesOf(pid: number): number {
  return readTree(pid).reduce((sum, stat) => sum + parseResidentBytes(readProc(stat.pid, 'status') ?? ''), 0);
}

function readTree(root: number): ProcessStat[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const lines = pids.map((pid) => readProc(Number(pid), 'stat')).filter((line) => line !== undefined);
  return treeOf(root, lines.map(parseStat));
}

/** Undefined for a process that has ended since it was listed. */
function readProc(pid: number, file: 'stat' | 'status'): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return undefined;
  }
}
