import { performance } from 'node:perf_hooks';
import v8 from 'node:v8';
import { attempt } from '../base/attempt.ts';
import { type Clock, MS_PER_S, NS_PER_MS } from '../base/clock.ts';
import { countDescriptors, readMaxDescriptors } from '../base/descriptors.ts';
import { counter, gauge, histogram, type MetricDescription } from '../base/metric-description.ts';
import { platform } from '../base/platform/platform.ts';
import { createBucketBounds, DurationBuckets } from '../metrics/duration-buckets.ts';

export type ProcessReading = Awaited<ReturnType<typeof readProcess>>;

const US_PER_S = 1e6;
const FD_FOLDER = `${platform.procPath}/self/fd`;

/**
 * What the operating system and Node report about this process. Without /proc, or without a free file descriptor to read
 * it, `residentBytes`, `openFds` and `maxFds` are undefined.
 */
export async function readProcess() {
  const { user, system } = process.cpuUsage();
  const heap = v8.getHeapStatistics();
  return {
    cpuSeconds: (user + system) / US_PER_S,
    residentBytes: attempt(() => process.memoryUsage.rss()),
    heapUsedBytes: heap.used_heap_size,
    heapTotalBytes: heap.total_heap_size,
    externalBytes: heap.external_memory,
    openFds: await countDescriptors(FD_FOLDER),
    maxFds: readMaxDescriptors(),
    /** Since 1970. */
    startTimeSeconds: performance.timeOrigin / MS_PER_S,
    /** Time in which the event loop was busy. */
    loopActiveSeconds: performance.eventLoopUtilization().active / MS_PER_S,
  };
}

/** Named as in the Prometheus client libraries, where those have the metric. */
export const PROCESS_METRICS: readonly MetricDescription<ProcessReading>[] = [
  counter('d2_sidecar_loop_active_seconds_total', 'Busy time of the event loop.', 'loopActiveSeconds'),
  counter('process_cpu_seconds_total', 'Processor time, user and system.', 'cpuSeconds'),
  gauge('process_start_time_seconds', 'When the process started.', 'startTimeSeconds'),
  gauge('process_resident_memory_bytes', 'Resident memory.', 'residentBytes'),
  gauge('process_open_fds', 'Open file descriptors.', 'openFds'),
  gauge('process_max_fds', 'Limit of open file descriptors.', 'maxFds'),
  gauge('nodejs_heap_size_used_bytes', 'JavaScript heap in use.', 'heapUsedBytes'),
  gauge('nodejs_heap_size_total_bytes', 'JavaScript heap reserved.', 'heapTotalBytes'),
  gauge('nodejs_external_memory_bytes', 'Memory outside the heap that JavaScript objects hold.', 'externalBytes'),
];

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
    'durations',
  ),
];
