/**
 * Finds connections that have become silent. A timer on each socket would do the same, but Node sets it anew with every read and
 * write: some 5 % of what a small call costs. So a socket gets one only once nothing has moved on its connection for a while.
 */

/** Looks are that often at most: what is silent for longer than allowed is noticed up to this much late. */
const MAX_LOOK_MS = 5_000;
/** And so many within the time that a connection may be silent. */
const LOOKS_PER_TIMEOUT = 4;

export interface Watched {
  /** How long it may be silent, in ms; 0: for ever. The same for all. */
  readonly idleTimeoutMs: number;
  /** Called again and again, `everyMs` after the time before. */
  look(everyMs: number): void;
}

export class SilenceWatch {
  readonly #watched = new Set<Watched>();
  #timer: NodeJS.Timeout | undefined;

  add(watched: Watched): void {
    this.#watched.add(watched);
    if (this.#timer === undefined) this.#lookAfter(toLookMs(watched.idleTimeoutMs));
  }

  /** Whoever is not there is not missed. */
  delete(watched: Watched): void {
    this.#watched.delete(watched);
  }

  #lookAfter(everyMs: number): void {
    this.#timer = setTimeout(() => this.#look(everyMs), everyMs).unref();
  }

  #look(everyMs: number): void {
    this.#timer = undefined;
    let last: Watched | undefined;
    for (const watched of this.#watched) {
      watched.look(everyMs);
      last = watched;
    }
    // The time may be another since the configuration was reloaded.
    if (last !== undefined) this.#lookAfter(toLookMs(last.idleTimeoutMs));
  }
}

function toLookMs(idleTimeoutMs: number): number {
  return idleTimeoutMs === 0 ? MAX_LOOK_MS : Math.min(MAX_LOOK_MS, Math.ceil(idleTimeoutMs / LOOKS_PER_TIMEOUT));
}
