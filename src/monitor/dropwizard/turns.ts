import { setImmediate as nextTurn } from 'node:timers/promises';
import { NS_PER_MS, systemClock } from '../../clock.ts';

const MAX_WORK_NS = 3 * NS_PER_MS;

/** Cuts long work into pieces of about 3 ms, so that traffic never waits longer for the monitor: call `rest` when `due`. */
export class Turns {
  // The real clock also under test: this is about processor time, which an injected clock knows nothing of.
  #beganNs = systemClock.nowNs();

  get due(): boolean {
    return systemClock.nowNs() - this.#beganNs >= MAX_WORK_NS;
  }

  /** Lets everything that is waiting for the event loop run. */
  async rest(): Promise<void> {
    await nextTurn();
    this.#beganNs = systemClock.nowNs();
  }
}
