import type { Clock } from '../base/clock.ts';
import { NS_PER_MS } from '../base/clock.ts';
import { DurationBuckets, type DurationBucketsReading, toBounds } from '../metrics/duration-buckets.ts';

const INTERVAL_MS = 20;
const BOUNDS = toBounds([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]);

/**
 * How late the event loop runs what is due: what every request waits beside its own work. Looks 50 times a second.
 *
 * `monitorEventLoopDelay` of Node looks as often, but its histogram tells percentiles since a reset only, which two readers would
 * take from each other; buckets that only grow can be read by any number.
 */
export class LoopDelay {
  readonly #clock: Clock;
  readonly #durations = new DurationBuckets(BOUNDS);
  #lastNs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get durations(): DurationBucketsReading {
    return this.#durations;
  }

  start(): void {
    this.#lastNs = this.#clock.nowNs();
    this.#timer = setInterval(() => this.look(), INTERVAL_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** To be called when the interval is over. */
  look(): void {
    const nowNs = this.#clock.nowNs();
    this.#durations.add(Math.max(0, nowNs - this.#lastNs - INTERVAL_MS * NS_PER_MS));
    this.#lastNs = nowNs;
  }
}
