/** Time that other programs take of the sidecar's core. From /proc/stat (proc(5)). */
import { readFileSync } from 'node:fs';
import { parseStat } from '../../bench/load/proc.ts';

const LOOK_MS = 100;
/** In a window of a second. */
const LOOKS = 10;
/** USER_HZ is 100 on every Linux. */
const MS_PER_TICK = 10;

export class CoreWatch {
  readonly #core: number | undefined;
  readonly #pid: number;
  readonly #timer: NodeJS.Timeout;
  /** Since the start, in ms, at the last samples. */
  readonly #looks: number[] = [];
  #mostLostMs = 0;

  /** Without a dedicated core nothing is known, and nothing counts as lost. */
  constructor(core: number | undefined, pid: number) {
    this.#core = core;
    this.#pid = pid;
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
    this.#look();
  }

  /** The largest share of others in any second. */
  get mostLostMs(): number {
    return this.#mostLostMs;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    if (this.#core === undefined) return;
    try {
      const busyMs = parseBusyMs(readFileSync('/proc/stat', 'latin1'), this.#core);
      const ownMs = parseStat(readFileSync(`/proc/${this.#pid}/stat`, 'latin1')).cpuUs / 1_000;
      this.#looks.push(busyMs - ownMs);
    } catch {
      // The sidecar has ended.
      return;
    }
    if (this.#looks.length > LOOKS + 1) this.#looks.shift();
    const [first = 0] = this.#looks;
    this.#mostLostMs = Math.max(this.#mostLostMs, (this.#looks.at(-1) ?? 0) - first);
  }
}

/** Time that a core ran programs, or that its host stole. Without interrupts: those of the sidecar's sockets are among them. */
export function parseBusyMs(stat: string, core: number): number {
  const line = new RegExp(`^cpu${core} (.*)$`, 'm').exec(stat)?.[1];
  if (line === undefined) throw new Error(`no core ${core} in /proc/stat`);
  const [user = 0, nice = 0, system = 0, , , , , steal = 0] = line.split(' ').map(Number);
  return (user + nice + system + steal) * MS_PER_TICK;
}
