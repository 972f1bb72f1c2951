/**
 * Reads the JVM's condition from one source on its own timer, never on request: a request gets the last reading and its
 * age. A source that hangs, fails or disappears affects nothing but these answers.
 */
import { once } from 'node:events';
import { type Clock, MS_PER_S, NS_PER_MS, NS_PER_S } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { counter, gauge, info, type MetricDescription, readEach, summary } from '../base/metric-description.ts';
import { createJvmGauges, type JvmGauges } from './gauges.ts';
import { type JvmReading, type JvmSource, JvmSourceError, type MemoryUsage } from './jvm-source.ts';
import { createServerState, type ServerState } from './server-reading.ts';

interface JvmMonitorOptions {
  readonly source: JvmSource;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Age at which the last reading is no longer shown. */
  readonly staleAfterMs: number;
  /** True if the configuration does not name this source. A missing JVM is then logged at info, not at warn. */
  readonly isOptional?: boolean;
  /** Port of the connector whose threads are shown. */
  readonly upstreamPort: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Shown {
  readonly reading: JvmReading;
  readonly gauges: JvmGauges;
  readonly server: ServerState;
  readonly source: string;
  /** Time of the first reading after the last gap. */
  readonly sinceEpochMs: number;
  readonly atNs: number;
  readonly atEpochMs: number;
}

export type JvmState =
  | (Omit<Shown, 'atNs' | 'atEpochMs'> & { readonly kind: 'available'; readonly ageMs: number })
  | { readonly kind: 'unavailable'; readonly reason: string; readonly sinceEpochMs: number };

/** The JVM first stops all its threads, which may wait for a collection. */
const DUMP_TIMEOUT_MS = 10_000;

export class JvmMonitor {
  readonly #options: JvmMonitorOptions;
  readonly #startedEpochMs: number;
  #last: Shown | undefined;
  #reason = 'The JVM has not been read yet.';
  #loggedReason: string | undefined;
  /** Readings tried since the start, and those that failed. */
  reads = 0;
  failures = 0;
  #isReading = false;
  #isDumping = false;
  #isRunning = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: JvmMonitorOptions) {
    this.#options = options;
    this.#startedEpochMs = options.clock.epochMs();
  }

  /** How often the source reached a bound of its search, by the bound's name; empty for a source without bounds. */
  get boundsHit(): ReadonlyMap<string, number> {
    return this.#options.source.boundsHit ?? new Map();
  }

  get state(): JvmState {
    const { clock, staleAfterMs } = this.#options;
    const last = this.#last;
    if (last === undefined) return { kind: 'unavailable', reason: this.#reason, sinceEpochMs: this.#startedEpochMs };
    const ageMs = (clock.nowNs() - last.atNs) / NS_PER_MS;
    if (ageMs > staleAfterMs) return { kind: 'unavailable', reason: this.#reason, sinceEpochMs: last.atEpochMs };
    return { kind: 'available', ageMs, ...last };
  }

  start(): void {
    this.#isRunning = true;
    void this.#poll();
  }

  stop(): void {
    this.#isRunning = false;
    clearTimeout(this.#timer);
    this.#options.source.close();
  }

  /** Rejects with a `JvmSourceError`. */
  async dumpThreads(): Promise<string> {
    const { source } = this.#options;
    if (source.dumpThreads === undefined) {
      const why = `Threads come from the JVM’s attach socket, and jvm.source is ${source.name}: run d2-sidecar on the JVM’s machine with jvm.source auto or hsperfdata.`;
      throw new JvmSourceError('D2S_ERR_JVM_UNREACHABLE', why);
    }
    if (this.#isDumping)
      throw new JvmSourceError('D2S_ERR_JVM_UNREACHABLE', 'Another thread dump is in progress: try again.');
    this.#isDumping = true;
    try {
      return await source.dumpThreads(AbortSignal.timeout(DUMP_TIMEOUT_MS));
    } finally {
      this.#isDumping = false;
    }
  }

  async #poll(): Promise<void> {
    await this.refresh();
    if (this.#isRunning) this.#timer = setTimeout(() => void this.#poll(), this.#options.intervalMs).unref();
  }

  /** Takes one reading. Never rejects; does nothing while another reading is running. */
  async refresh(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    this.reads += 1;
    const { source, timeoutMs } = this.#options;
    const deadline = AbortSignal.timeout(timeoutMs);
    const reading = (async () => await source.read(deadline))();
    try {
      const reason = once(deadline, 'abort').then(() => Promise.reject(deadline.reason));
      this.#onRead(await Promise.race([reading, reason]));
    } catch (cause) {
      const late = `The source of the JVM’s condition did not answer within ${timeoutMs} ms (jvm.timeout).`;
      this.#onFailure(deadline.aborted ? new JvmSourceError('D2S_ERR_JVM_TIMEOUT', late) : cause);
    } finally {
      // A source that ignores the deadline keeps running, and is not called again before it has settled.
      const release = () => {
        this.#isReading = false;
      };
      void reading.then(release, release);
    }
  }

  #onRead(reading: JvmReading): void {
    const { clock, logger, source, upstreamPort } = this.#options;
    const [atNs, atEpochMs, last] = [clock.nowNs(), clock.epochMs(), this.#last];
    const before = last && { process: last.reading.server?.process, seconds: (atNs - last.atNs) / NS_PER_S };
    const { state } = this;
    this.#last = {
      reading,
      gauges: createJvmGauges(reading),
      server: createServerState(reading.server ?? {}, upstreamPort, before),
      source: source.name,
      sinceEpochMs: state.kind === 'available' ? state.sinceEpochMs : atEpochMs,
      atNs,
      atEpochMs,
    };
    if (this.#loggedReason !== undefined) logger.info({ source: source.name }, 'the JVM can be read again');
    this.#loggedReason = undefined;
  }

  #onFailure(cause: unknown): void {
    this.failures += 1;
    const error = cause instanceof JvmSourceError ? cause : undefined;
    this.#reason = error?.message ?? 'Reading the JVM failed with an unexpected error.';
    // Logs each reason once, not at every poll.
    if (this.#loggedReason === this.#reason) return;
    this.#loggedReason = this.#reason;
    const name = cause instanceof Error ? cause.name : typeof cause;
    const { isOptional, logger, source } = this.#options;
    const fields = { source: source.name, code: error?.code ?? name, reason: this.#reason };
    if (isOptional && this.#last === undefined) logger.info(fields, 'the JVM cannot be read');
    else logger.warn(fields, 'the JVM cannot be read');
  }
}

const USAGES = [
  ['used', 'Bytes in use'],
  ['committed', 'Bytes reserved'],
  ['max', 'Maximum bytes (-1: no limit)'],
  ['init', 'Bytes at the start'],
] as const satisfies readonly (readonly [keyof MemoryUsage, string])[];

/**
 * The JVM's numbers, under the names of Prometheus' own Java library (client_java 1, and so jmx_exporter 1), so that
 * dashboards made for these work. https://prometheus.github.io/client_java/instrumentation/jvm/
 */
export const JVM_METRICS: readonly MetricDescription<JvmReading>[] = [
  gauge('jvm_classes_currently_loaded', 'Classes loaded now.', ({ classes: { loaded, unloaded } }) =>
    loaded === undefined || unloaded === undefined ? undefined : loaded - unloaded,
  ),
  counter('jvm_classes_loaded_total', 'Classes loaded since the JVM started.', ({ classes }) => classes.loaded),
  counter('jvm_classes_unloaded_total', 'Classes unloaded since the JVM started.', ({ classes }) => classes.unloaded),
  ...USAGES.map(([key, what]) =>
    gauge<JvmReading>(
      `jvm_memory_${key}_bytes`,
      `${what} in the memory area.`,
      ({ heap, nonHeap }) => ({ heap: heap[key], nonheap: nonHeap[key] }),
      'area',
    ),
  ),
  ...USAGES.map(([key, what]) =>
    gauge<JvmReading>(
      `jvm_memory_pool_${key}_bytes`,
      `${what} in the pool.`,
      ({ pools }) => readEach(pools, (usage) => usage[key]),
      'pool',
    ),
  ),
  gauge(
    'jvm_memory_pool_collection_used_bytes',
    'Bytes in use in the pool after its last collection.',
    ({ pools }) => readEach(pools, ({ usedAfterGc }) => usedAfterGc),
    'pool',
  ),
  summary(
    'jvm_gc_collection_seconds',
    'Collections, and the time spent in them.',
    ({ collectors }) =>
      readEach(collectors, ({ count, timeMs }) =>
        count === undefined && timeMs === undefined
          ? undefined
          : { count, sum: timeMs === undefined ? undefined : timeMs / MS_PER_S },
      ),
    'gc',
  ),
];

export const JVM_SOURCE_METRICS: readonly MetricDescription<
  Pick<JvmMonitor, 'state' | 'reads' | 'failures' | 'boundsHit'>
>[] = [
  gauge('d2_sidecar_jvm_source_up', "Whether the JVM's reading is fresh.", ({ state }) =>
    Number(state.kind === 'available'),
  ),
  info(
    'd2_sidecar_jvm_source_info',
    "Source of the JVM's numbers; memory is live, or as of the last collection (after-gc).",
    ({ state }) => (state.kind === 'available' ? { [state.source]: { [state.reading.memory]: 1 } } : undefined),
    'source',
    'memory',
  ),
  gauge('d2_sidecar_jvm_reading_age_seconds', 'Age of the last reading.', ({ state }) =>
    state.kind === 'available' ? state.ageMs / MS_PER_S : undefined,
  ),
  counter('d2_sidecar_jvm_reads_total', 'Attempted readings of the JVM.', 'reads'),
  counter('d2_sidecar_jvm_read_failures_total', 'Failed readings of the JVM.', 'failures'),
  counter('d2_sidecar_jvm_bounds_hit_total', 'Searches for the JVM that reached a bound.', 'boundsHit', 'bound'),
];
