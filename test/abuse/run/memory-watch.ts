/** Resident memory and descriptors of the sidecar, from /proc (proc(5)). */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const LOOK_MS = 100;

/** Watches one process from now on. */
export class MemoryWatch {
  readonly startBytes: number;
  readonly #pid: number;
  readonly #timer: NodeJS.Timeout;
  /** Whether VmHWM was reset, so that a peak between two samples is seen as well. */
  readonly #hasFreshPeak: boolean;
  #peakBytes: number;

  constructor(pid: number) {
    this.#pid = pid;
    this.startBytes = residentBytes(pid) ?? 0;
    this.#peakBytes = this.startBytes;
    this.#hasFreshPeak = clearPeak(pid);
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  /** The highest value so far. For an ended process, the last known one. */
  get peakBytes(): number {
    this.#look();
    return this.#peakBytes;
  }

  get nowBytes(): number | undefined {
    return residentBytes(this.#pid);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const status = readStatus(this.#pid);
    if (status === undefined) return;
    const field = this.#hasFreshPeak ? 'VmHWM' : 'VmRSS';
    this.#peakBytes = Math.max(this.#peakBytes, fieldOf(status, field) ?? 0);
  }
}

/** Undefined for a process that has ended. */
export function residentBytes(pid: number): number | undefined {
  const status = readStatus(pid);
  return status === undefined ? undefined : fieldOf(status, 'VmRSS');
}

export function openDescriptors(pid: number): number | undefined {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return undefined;
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

function readStatus(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/status`, 'latin1');
  } catch {
    return undefined;
  }
}

function fieldOf(status: string, field: 'VmRSS' | 'VmHWM'): number | undefined {
  const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}
