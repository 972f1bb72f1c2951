import { type Clock, NS_PER_MS, NS_PER_US } from '../base/clock.ts';

/**
 * What all answers together may take of one turn of the event loop: as much as everything else took of it, between these two. A
 * call that passes meanwhile waits for two of them at most, one on its way to the upstream and one on its way back. So it is short
 * where calls are quick, and where they wait for each other anyway, an answer still comes to its end.
 */
const MIN_WORK_NS = 100 * NS_PER_US;
const MAX_WORK_NS = 1 * NS_PER_MS;

/** Calls `run` in the next turn of the event loop, best behind what calls wait for in that turn. */
export type NextTurn = (run: () => void) => void;

/** Does some of its work: stops as soon as `isDue`, and enters again for the rest. */
export type Work = () => void;

/**
 * Shares the event loop between traffic and the answers that are being written: whatever is long enters here, and is called in
 * turns of the loop, so that traffic is served in between. However many answers there are, they share the time of one.
 */
export class Turns {
  readonly #clock: Clock;
  readonly #nextTurn: NextTurn;
  /** In the order of their coming. */
  readonly #waiting = new Set<Work>();
  readonly #run = (): void => this.#runWaiting();
  #isScheduled = false;
  #scheduledNs = 0;
  #endNs = 0;

  constructor(clock: Clock, nextTurn: NextTurn = setImmediate) {
    this.#clock = clock;
    this.#nextTurn = nextTurn;
  }

  /** The time of this turn is over. */
  get isDue(): boolean {
    return this.#clock.nowNs() >= this.#endNs;
  }

  /** Calls `work` once, in a later turn of the loop; until then, entering it again changes nothing. It must not throw. */
  enter(work: Work): void {
    this.#waiting.add(work);
    this.#scheduleRun();
  }

  leave(work: Work): void {
    this.#waiting.delete(work);
  }

  #scheduleRun(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#scheduledNs = this.#clock.nowNs();
    this.#nextTurn(this.#run);
  }

  #runWaiting(): void {
    this.#isScheduled = false;
    const nowNs = this.#clock.nowNs();
    const othersNs = nowNs - this.#scheduledNs;
    this.#endNs = nowNs + Math.min(Math.max(othersNs, MIN_WORK_NS), MAX_WORK_NS);
    // Who enters again is behind all others, and gets what is left of the turn.
    for (const work of this.#waiting) {
      this.#waiting.delete(work);
      work();
      if (this.isDue) break;
    }
    if (this.#waiting.size > 0) this.#scheduleRun();
  }
}
