/** Memory, descriptors and the core of a process, from /proc (proc(5)). */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseStat } from '../../bench/load/proc.ts';
import { medianOf } from '../../bench/load/statistics.ts';

export interface Figures {
  readonly residentBytes: number;
  readonly descriptors: number;
}

const SAMPLES = 7;
const LOOK_MS = 100;
const LOOKS = 10;
/** USER_HZ is 100 on every Linux. */
const MS_PER_TICK = 10;

export function figuresOf(pid: number): Figures | undefined {
  const residentBytes = bytesOf(pid, 'smaps_rollup', 'Rss');
  const descriptors = openDescriptors(pid);
  return residentBytes === undefined || descriptors === undefined ? undefined : { residentBytes, descriptors };
}

/** Medians of some samples. Throws for a process that has ended. */
export async function steadyFiguresOf(pid: number): Promise<Figures> {
  const samples: Figures[] = [];
  for (let i = 0; i < SAMPLES; i += 1) {
    const sample = figuresOf(pid);
    if (sample === undefined) throw new Error(`process ${pid} has ended`);
    samples.push(sample);
    await sleep(LOOK_MS);
  }
  const median = (figure: keyof Figures) => medianOf(samples.map((sample) => sample[figure]));
  return { residentBytes: median('residentBytes'), descriptors: median('descriptors') };
}

export function openDescriptors(pid: number): number | undefined {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return undefined;
  }
}

export function residentBytes(pid: number): number | undefined {
  return bytesOf(pid, 'status', 'VmRSS');
}

function bytesOf(pid: number, file: string, field: string): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/${file}`, 'latin1');
    const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024;
  } catch {
    return undefined;
  }
}

/** Watches the memory of a process, and the time that others take of its core, from now on. */
export class Watch {
  readonly startBytes: number;
  /** For an ended process, the last known one. */
  peakBytes: number;
  /** The largest share of others in any second. Without a core of its own nothing is known, and nothing counts as lost. */
  mostLostMs = 0;
  readonly #pid: number;
  readonly #core: number | undefined;
  /** Whether VmHWM was reset, so that a peak between two samples is seen as well. */
  readonly #peakField: 'VmHWM' | 'VmRSS';
  readonly #timer: NodeJS.Timeout;
  /** Time of others since the start, in ms, at the last samples. */
  readonly #others: number[] = [];

  constructor(pid: number, core: number | undefined) {
    this.#pid = pid;
    this.#core = core;
    this.startBytes = residentBytes(pid) ?? 0;
    this.peakBytes = this.startBytes;
    this.#peakField = clearPeak(pid) ? 'VmHWM' : 'VmRSS';
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
    this.#look();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#look();
  }

  #look(): void {
    this.peakBytes = Math.max(this.peakBytes, bytesOf(this.#pid, 'status', this.#peakField) ?? 0);
    if (this.#core === undefined) return;
    try {
      const busyMs = parseBusyMs(readFileSync('/proc/stat', 'latin1'), this.#core);
      const ownMs = parseStat(readFileSync(`/proc/${this.#pid}/stat`, 'latin1')).cpuUs / 1_000;
      this.#others.push(busyMs - ownMs);
    } catch {
      // The process has ended.
      return;
    }
    if (this.#others.length > LOOKS + 1) this.#others.shift();
    this.mostLostMs = Math.max(this.mostLostMs, (this.#others.at(-1) ?? 0) - (this.#others[0] ?? 0));
  }
}

function clearPeak(pid: number): boolean {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
    return true;
  } catch {
    // Not allowed on every machine.
    return false;
  }
}

/** Time that a core ran programs, or that its host stole. Without interrupts: those of the process's sockets are among them. */
export function parseBusyMs(stat: string, core: number): number {
  const line = new RegExp(`^cpu${core} (.*)$`, 'm').exec(stat)?.[1];
  if (line === undefined) throw new Error(`no core ${core} in /proc/stat`);
  const [user = 0, nice = 0, system = 0, , , , , steal = 0] = line.split(' ').map(Number);
  return (user + nice + system + steal) * MS_PER_TICK;
}
