/**
 * The JVM's numbers, under the names of Prometheus' own Java library (client_java 1, and so jmx_exporter 1), so that
 * dashboards made for these work. https://prometheus.github.io/client_java/instrumentation/jvm/
 */
import { MS_PER_S } from '../base/clock.ts';
import { counter, gauge, info, type MetricDescription, readEach, summary } from '../base/metric-description.ts';
import type { JvmMonitor } from './jvm-monitor.ts';
import type { JvmReading, MemoryUsage } from './jvm-reading.ts';

const USAGES = [
  ['used', 'Bytes in use'],
  ['committed', 'Bytes reserved'],
  ['max', 'Maximum bytes (-1: no limit)'],
  ['init', 'Bytes at the start'],
] as const satisfies readonly (readonly [keyof MemoryUsage, string])[];

export const JVM_METRICS: readonly MetricDescription<JvmReading>[] = [
  gauge('jvm_classes_currently_loaded', 'Classes loaded now.', ({ classes: { loaded, unloaded } }) =>
    loaded === undefined || unloaded === undefined ? undefined : loaded - unloaded,
  ),
  counter('jvm_classes_loaded_total', 'Classes loaded since the start of the JVM.', ({ classes }) => classes.loaded),
  counter(
    'jvm_classes_unloaded_total',
    'Classes unloaded since the start of the JVM.',
    ({ classes }) => classes.unloaded,
  ),
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
    'Collections of the collector, and the time spent in them.',
    ({ collectors }) =>
      readEach(collectors, ({ count, timeMs }) =>
        count === undefined && timeMs === undefined
          ? undefined
          : { count, sum: timeMs === undefined ? undefined : timeMs / MS_PER_S },
      ),
    'gc',
  ),
];

/** The source of the numbers, and its condition. */
export const JVM_SOURCE_METRICS: readonly MetricDescription<
  Pick<JvmMonitor, 'state' | 'reads' | 'failures' | 'boundsHit'>
>[] = [
  gauge('d2_sidecar_jvm_source_up', 'Whether there is a fresh reading of the JVM.', ({ state }) =>
    Number(state.kind === 'available'),
  ),
  info(
    'd2_sidecar_jvm_source_info',
    "Source of the JVM's numbers; memory in use is live, or as of the last collection (after-gc).",
    ({ state }) => (state.kind === 'available' ? { [state.source]: { [state.memory]: 1 } } : undefined),
    'source',
    'memory',
  ),
  gauge('d2_sidecar_jvm_reading_age_seconds', 'Age of the last reading.', ({ state }) =>
    state.kind === 'available' ? state.ageMs / MS_PER_S : undefined,
  ),
  counter('d2_sidecar_jvm_reads_total', 'Attempted readings of the JVM.', ({ reads }) => reads),
  counter('d2_sidecar_jvm_read_failures_total', 'Failed readings of the JVM.', ({ failures }) => failures),
  counter(
    'd2_sidecar_jvm_bounds_hit_total',
    'Searches for the JVM that reached a bound.',
    ({ boundsHit }) => boundsHit,
    'bound',
  ),
];
