/**
 * The JVM's numbers, under the names of Prometheus' own Java library (client_java 1, and so jmx_exporter 1), so that
 * dashboards made for these work. https://prometheus.github.io/client_java/instrumentation/jvm/
 */
import type { JvmReading, MemoryUsage } from '../../jvm/jvm-reading.ts';
import type { MonitoredJvm } from '../monitored.ts';
import { labelled, type Sample, single, type Table } from './table.ts';

const MS_PER_S = 1_000;

const USAGES = [
  ['used', 'Bytes in use'],
  ['committed', 'Bytes that the JVM has reserved'],
  ['max', 'Bytes at most, -1 without a limit,'],
  ['init', 'Bytes at the start'],
] as const;

/** Without a reading, or with one that is too old, there are no tables: missing is not zero. */
export function jvmTables({ state }: MonitoredJvm): readonly Table[] {
  if (state.kind === 'unavailable') return [];
  const { reading } = state;
  return [...classTables(reading.classes), ...memoryTables(reading), collectorTable(reading)];
}

function classTables({ loaded, unloaded }: JvmReading['classes']): readonly Table[] {
  const current = loaded === undefined || unloaded === undefined ? undefined : loaded - unloaded;
  return [
    single('gauge', 'jvm_classes_currently_loaded', 'Classes loaded now.', () => current),
    single('counter', 'jvm_classes_loaded_total', 'Classes loaded since the start of the JVM.', () => loaded),
    single('counter', 'jvm_classes_unloaded_total', 'Classes unloaded since the start of the JVM.', () => unloaded),
  ];
}

function memoryTables({ heap, nonHeap, pools }: JvmReading): readonly Table[] {
  const areas = new Map([
    ['heap', heap],
    ['nonheap', nonHeap],
  ]);
  return [
    ...USAGES.map(
      ([key, what]): Table => gaugeOf(`jvm_memory_${key}_bytes`, `${what} in the memory area.`, 'area', areas, key),
    ),
    ...USAGES.map(
      ([key, what]): Table => gaugeOf(`jvm_memory_pool_${key}_bytes`, `${what} in the pool.`, 'pool', pools, key),
    ),
    gaugeOf(
      'jvm_memory_pool_collection_used_bytes',
      'Bytes in use in the pool after its last collection.',
      'pool',
      new Map(
        Array.from(pools, ([name, { usedAfterGc }]) => [name, usedAfterGc === undefined ? {} : { used: usedAfterGc }]),
      ),
      'used',
    ),
  ];
}

function gaugeOf(
  name: string,
  help: string,
  label: string,
  usages: ReadonlyMap<string, MemoryUsage>,
  key: keyof MemoryUsage,
): Table {
  return {
    ...{ name, type: 'gauge', help, labels: [label] },
    *samples(): Generator<Sample> {
      for (const [of, usage] of usages) {
        const value = usage[key];
        if (value !== undefined) yield { labels: [of], value };
      }
    },
  };
}

function collectorTable({ collectors }: JvmReading): Table {
  return {
    name: 'jvm_gc_collection_seconds',
    type: 'summary',
    help: 'Collections of the collector, and the time spent in them.',
    labels: ['gc'],
    *samples() {
      for (const [name, { count, timeMs }] of collectors) {
        const sum = timeMs === undefined ? undefined : timeMs / MS_PER_S;
        if (count !== undefined || sum !== undefined) yield { labels: [name], value: { count, sum } };
      }
    },
  };
}

/** The source of the numbers, and its condition. Empty if no source is configured, so that nothing seems to be down. */
export function jvmSourceTables({ state, reads, failures, boundsHit = new Map() }: MonitoredJvm): readonly Table[] {
  if (reads === undefined) return [];
  const isUp = state.kind === 'available';
  return [
    single('gauge', 'd2_sidecar_jvm_source_up', 'Whether there is a reading of the JVM that is not too old.', () =>
      isUp ? 1 : 0,
    ),
    {
      name: 'd2_sidecar_jvm_source_info',
      type: 'info',
      help: 'What the JVM is read by, and whether memory in use is live or as of the last collection (after-gc).',
      labels: ['source', 'memory'],
      *samples() {
        if (state.kind === 'available') yield { labels: [state.source, state.memory], value: 1 };
      },
    },
    single('gauge', 'd2_sidecar_jvm_reading_age_seconds', 'Age of the last reading.', () =>
      state.kind === 'available' ? state.ageMs / MS_PER_S : undefined,
    ),
    single('counter', 'd2_sidecar_jvm_reads_total', 'Readings tried.', () => reads),
    single('counter', 'd2_sidecar_jvm_read_failures_total', 'Readings that failed.', () => failures),
    labelled(
      {
        type: 'counter',
        name: 'd2_sidecar_jvm_bounds_hit_total',
        help: 'How often the search for the JVM had more to look at than it looks at, by bound.',
        label: 'bound',
      },
      () => boundsHit,
    ),
  ];
}
