/** Times in which calls may fail that nobody meant to fail: the upstream or the sidecar is away, or is just coming back. */

/** What was open may notice later than it happened: a backlog is worked off, a kept connection is found closed. */
const AFTERMATH_MS = 1_000;
/** The order is given from one process and carried out by another. */
const BEFORE_MS = 50;

interface Window {
  readonly what: string;
  readonly fromMs: number;
  toMs: number;
}

export class Windows {
  readonly #all: Window[] = [];

  /** Opens one; the function returned closes it. */
  open(what: string, nowMs: number): (nowMs: number) => void {
    const window = { what, fromMs: nowMs - BEFORE_MS, toMs: Number.POSITIVE_INFINITY };
    this.#all.push(window);
    return (endMs) => {
      window.toMs = endMs + AFTERMATH_MS;
    };
  }

  /** What was going on while a call lasted; undefined: nothing. */
  over(beganMs: number, endedMs: number): string | undefined {
    return this.#all.find(({ fromMs, toMs }) => beganMs <= toMs && endedMs >= fromMs)?.what;
  }

  /** Those that are long over are of no use any more. */
  forget(beforeMs: number): void {
    const kept = this.#all.filter(({ toMs }) => toMs >= beforeMs);
    this.#all.splice(0, this.#all.length, ...kept);
  }
}
