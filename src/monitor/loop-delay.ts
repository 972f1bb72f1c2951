import { type Clock, NS_PER_MS } from '../base/clock.ts';
import { histogram, type MetricDescription } from '../base/metric-description.ts';
import { createBucketBounds, DurationBuckets } from '../metrics/duration-buckets.ts';

const INTERVAL_MS = 20;
const BOUNDS = createBucketBounds([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]);

/**
 * Measures how late the event loop runs its timers, 50 times a second. Every request waits that long in addition to its
 * own work.
 *
 * Node's `monitorEventLoopDelay` samples as often, but its percentiles count from the last reset, so two readers would
 * disturb each other. Buckets that only grow serve any number of readers.
 */
export class LoopDelay {
  readonly durations = new DurationBuckets(BOUNDS);
  readonly #clock: Clock;
  #lastNs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(): void {
    this.#lastNs = this.#clock.nowNs();
    this.#timer = setInterval(() => this.sample(), INTERVAL_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Called at the end of each interval. */
  sample(): void {
    const nowNs = this.#clock.nowNs();
    this.durations.add(Math.max(0, nowNs - this.#lastNs - INTERVAL_MS * NS_PER_MS));
    this.#lastNs = nowNs;
  }
}

export const LOOP_METRICS: readonly MetricDescription<LoopDelay>[] = [
  histogram(BOUNDS.seconds)(
    'd2_sidecar_loop_delay_seconds',
    'How late the event loop ran a timer of 20 ms.',
    ({ durations }) => durations,
  ),
];
