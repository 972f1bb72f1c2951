/** Converts a reading to the monitor's gauges, with the names of Dropwizard's gauge sets (metrics-jvm 4.2). */
import { emptyMetricSet, type Gauge, type MetricSet, unionOf } from '../metrics/metric-set.ts';
import type { JvmReading, MemoryUsage } from './jvm-source.ts';
import type { ServerState } from './server-reading.ts';

export type JvmGauges = ReturnType<typeof createJvmGauges>;

const USAGE_KEYS = ['init', 'used', 'committed', 'max'] as const;

export function createJvmGauges({ classes, heap, nonHeap, pools, collectors }: JvmReading) {
  return {
    classloader: createGauges([
      ['jvm.classloader.loaded', classes.loaded],
      ['jvm.classloader.unloaded', classes.unloaded],
    ]),
    /** E.g. `jvm.memory.pools.G1-Old-Gen.usage`: bytes, and ratios named `usage`. */
    memory: createGauges([
      ...listUsage('jvm.memory.heap', heap),
      ...listUsage('jvm.memory.non-heap', nonHeap),
      ...USAGE_KEYS.map((key): GaugeRow => [`jvm.memory.total.${key}`, addUsages(key, heap[key], nonHeap[key])]),
      ...[...pools].flatMap(([name, pool]) => {
        const prefix = `jvm.memory.pools.${formatGaugeName(name)}`;
        return [...listUsage(prefix, pool), [`${prefix}.used-after-gc`, pool.usedAfterGc] as const];
      }),
    ]),
    /** E.g. `jvm.garbagecollector.G1-Young-Generation.time` (ms). */
    garbagecollector: createGauges(
      [...collectors].flatMap(([name, { count, timeMs }]) => {
        const prefix = `jvm.garbagecollector.${formatGaugeName(name)}`;
        return [[`${prefix}.count`, count] as const, [`${prefix}.time`, timeMs] as const];
      }),
    ),
  };
}

export function joinJvmGauges({ classloader, memory, garbagecollector }: JvmGauges): MetricSet {
  return unionOf(classloader, memory, garbagecollector);
}

export function createServerGauges({ connector, threads, process, cores }: ServerState): MetricSet {
  return createGauges([
    ['server.threads.busy', connector?.busyThreads],
    ['server.threads.max', connector?.maxThreads],
    ['server.connections', connector?.connections],
    ['server.jvm.threads.live', threads.live],
    ['server.jvm.threads.daemon', threads.daemon],
    ['server.jvm.threads.peak', threads.peak],
    ['server.process.cpu', cores, 'double'],
    ['server.process.memory', process.residentBytes],
    ['server.process.descriptors.open', process.openDescriptors],
    ['server.process.descriptors.max', process.maxDescriptors],
  ]);
}

function listUsage(prefix: string, usage: MemoryUsage): readonly GaugeRow[] {
  const { used, max, committed } = usage;
  // Without a limit the ratio is used / committed, as in Dropwizard since 4.2.16.
  const whole = max === -1 ? committed : max;
  // 0 / 0, e.g. for an empty survivor space, is NaN, as in Dropwizard.
  const ratio = used === undefined || whole === undefined ? undefined : used / whole;
  return [...USAGE_KEYS.map((key): GaugeRow => [`${prefix}.${key}`, usage[key]]), [`${prefix}.usage`, ratio, 'double']];
}

function addUsages(key: keyof MemoryUsage, a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return undefined;
  return key === 'max' && (a === -1 || b === -1) ? -1 : a + b;
}

/** `G1-Eden-Space` for `G1 Eden Space`, as Dropwizard does it. */
function formatGaugeName(name: string): string {
  return name.replace(/\s+/g, '-');
}

/** `undefined`: the reading lacks the value, and there is no gauge: missing is not zero. */
type GaugeRow = readonly [name: string, value: number | undefined, type?: Gauge['type']];

function createGauges(rows: readonly GaugeRow[]): MetricSet {
  const gauges = new Map<string, Gauge>();
  for (const [name, value, type = 'integer'] of rows) {
    if (value !== undefined) gauges.set(name, { type, read: () => value });
  }
  return { ...emptyMetricSet, gauges };
}
