import { type Clock, NS_PER_MS, NS_PER_US } from '../base/clock.ts';

/**
 * Bounds of the share: the time that all answers together take in one turn of the event loop. Within the bounds, the
 * share equals the time that everything else took in that turn. A passing call waits for the share at most twice: on
 * its way to the upstream and on its way back. So the share is small while calls are fast. When calls queue anyway, it
 * is large enough for answers to finish.
 */
const MIN_WORK_NS = 100 * NS_PER_US;
const MAX_WORK_NS = 1 * NS_PER_MS;

/** Calls `run` in the next turn of the event loop, preferably after that turn's work for calls. */
export type NextTurn = (run: () => void) => void;

/** Does a part of its work: it stops when `isDue` and enters again for the rest. */
export type Work = () => void;

/**
 * Shares the event loop between traffic and answers in progress. Long work enters here and runs in slices, one per turn
 * of the loop, so that traffic is served in between. All answers together have one share, however many there are.
 */
export class LoopShare {
  readonly #clock: Clock;
  readonly #nextTurn: NextTurn;
  readonly #waiting = new Set<Work>();
  readonly #run = (): void => this.#runWaiting();
  #isScheduled = false;
  #scheduledNs = 0;
  #endNs = 0;

  constructor(clock: Clock, nextTurn: NextTurn = setImmediate) {
    this.#clock = clock;
    this.#nextTurn = nextTurn;
  }

  get isDue(): boolean {
    return this.#clock.nowNs() >= this.#endNs;
  }

  /** Calls `work` once in a later turn of the loop; entering it again before that has no effect. It must not throw. */
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
    // Work that enters again goes to the end of the queue, and may run in the rest of this turn.
    for (const work of this.#waiting) {
      this.#waiting.delete(work);
      work();
      if (this.isDue) break;
    }
    if (this.#waiting.size > 0) this.#scheduleRun();
  }
}
