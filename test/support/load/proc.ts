/** Processor time, memory, descriptors and the core of processes, from /proc (proc(5)). */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** USER_HZ: the unit of /proc on every Linux, whatever the kernel's own tick is. */
const TICKS_PER_S = 100;
const US_PER_TICK = 1e6 / TICKS_PER_S;
const LOOK_MS = 100;
const LOOKS = 10;

interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  /** In user and system mode, all threads, with ended children that were waited for. */
  readonly cpuUs: number;
}

/** A line of /proc/<pid>/stat, e.g. `7 (nginx: (w)) S 1 ...`: the name may hold spaces and brackets. Throws for a malformed line. */
function parseStat(line: string): ProcessStat {
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  const ticks = field(14) + field(15) + field(16) + field(17);
  const stat = { pid: Number.parseInt(line, 10), parent: field(4), cpuUs: ticks * US_PER_TICK };
  if (!Object.values(stat).every(Number.isFinite)) throw new Error(`no line of /proc/<pid>/stat: ${line}`);
  return stat;
}

/** Time that a core ran programs, or that its host stole. Without interrupts: those of the process's sockets are among them. */
function busyMsOf(core: number): number {
  const line = new RegExp(`^cpu${core} (.*)$`, 'm').exec(readProc('stat'))?.[1];
  if (line === undefined) throw new Error(`no core ${core} in /proc/stat`);
  const [user = 0, nice = 0, system = 0, , , , , steal = 0] = line.split(' ').map(Number);
  return ((user + nice + system + steal) * US_PER_TICK) / 1_000;
}

/** Processor time so far of a process and its descendants. Throws when it is gone. */
export function cpuUsOf(pid: number): number {
  const tree = treeOf(pid);
  if (tree.length === 0) throw new Error(`process ${pid} has ended`);
  return tree.reduce((sum, { cpuUs }) => sum + cpuUs, 0);
}

/** Current resident memory of a process and its descendants; shared pages count for each. */
export function residentBytesOfTree(pid: number): number {
  return treeOf(pid).reduce((sum, stat) => sum + (residentBytes(stat.pid) ?? 0), 0);
}

function treeOf(root: number): ProcessStat[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const all = pids.map((pid) => tryToRead(() => parseStat(readProc(pid, 'stat')))).filter((stat) => stat !== undefined);
  const tree = all.filter(({ pid }) => pid === root);
  // Grows during iteration: children of children follow.
  for (const { pid } of tree) tree.push(...all.filter(({ parent }) => parent === pid));
  return tree;
}

export function residentBytes(pid: number): number | undefined {
  return bytesOf(pid, 'status', 'VmRSS');
}

export function openDescriptors(pid: number): number | undefined {
  return tryToRead(() => readdirSync(`/proc/${pid}/fd`).length);
}

export function figuresOf(pid: number) {
  const residentBytes = bytesOf(pid, 'smaps_rollup', 'Rss');
  const descriptors = openDescriptors(pid);
  return residentBytes === undefined || descriptors === undefined ? undefined : { residentBytes, descriptors };
}

/** Undefined for an ended process, which has no such line. */
function bytesOf(pid: number, file: string, field: string): number | undefined {
  const text = tryToRead(() => readProc(pid, file)) ?? '';
  const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024;
}

function readProc(...names: readonly (string | number)[]): string {
  return readFileSync(`/proc/${names.join('/')}`, 'latin1');
}

/** Undefined for a process that has ended. */
function tryToRead<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Watches the memory of a process, and the time that others take of its core, from now on. */
export class Watch {
  readonly startBytes: number;
  /** For an ended process, the last known one. */
  peakBytes = 0;
  /** The largest share of others in any second. Without a core of its own nothing is known, and nothing counts as lost. */
  mostLostMs = 0;
  readonly #pid: number;
  readonly #core: number | undefined;
  /** Whether VmHWM was reset, so that a peak between two samples is seen as well; that is not allowed on every machine. */
  readonly #peakField: string;
  readonly #timer = setInterval(() => this.#look(), LOOK_MS);
  /** Time of others since the start, in ms, at the last samples. */
  readonly #others: number[] = [];

  constructor(pid: number, core: number | undefined) {
    this.#pid = pid;
    this.#core = core;
    this.startBytes = residentBytes(pid) ?? 0;
    const isReset = tryToRead(() => writeFileSync(`/proc/${pid}/clear_refs`, '5') === undefined);
    this.#peakField = isReset ? 'VmHWM' : 'VmRSS';
    this.#look();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#look();
  }

  #look(): void {
    this.peakBytes = Math.max(this.peakBytes, bytesOf(this.#pid, 'status', this.#peakField) ?? 0);
    const stat = tryToRead(() => parseStat(readProc(this.#pid, 'stat')));
    if (this.#core === undefined || stat === undefined) return;
    this.#others.push(busyMsOf(this.#core) - stat.cpuUs / 1_000);
    if (this.#others.length > LOOKS + 1) this.#others.shift();
    this.mostLostMs = Math.max(this.mostLostMs, (this.#others.at(-1) ?? 0) - (this.#others[0] ?? 0));
  }
}
