/** Times in which unplanned failures are excused: the upstream or the sidecar is down, or just restarting. */

/** Open connections may notice a fault late: a backlog is worked off, a kept connection is found closed. */
const AFTERMATH_MS = 1_000;
/** One process gives the order, another one carries it out. */
const BEFORE_MS = 50;

export class Windows {
  #all: { readonly what: string; readonly fromMs: number; toMs: number }[] = [];

  open(what: string, nowMs: number): (nowMs: number) => void {
    const window = { what, fromMs: nowMs - BEFORE_MS, toMs: Number.POSITIVE_INFINITY };
    this.#all.push(window);
    return (endMs) => {
      window.toMs = endMs + AFTERMATH_MS;
    };
  }

  over(beganMs: number, endedMs: number): string | undefined {
    return this.#all.find(({ fromMs, toMs }) => beganMs <= toMs && endedMs >= fromMs)?.what;
  }

  forget(beforeMs: number): void {
    this.#all = this.#all.filter(({ toMs }) => toMs >= beforeMs);
  }
}
