/** Converts a reading to the monitor's gauges, with the names of Dropwizard's gauge sets (metrics-jvm 4.2). */
import type { Gauge } from '../metrics/gauge.ts';
import { emptyMetricSet, type MetricSet, unionOf } from '../metrics/metric-set.ts';
import type { JvmReading, MemoryUsage } from './jvm-reading.ts';

export interface JvmGauges {
  /** `jvm.classloader.loaded`, `.unloaded`. */
  readonly classloader: MetricSet;
  /** `jvm.memory.heap.used`, `jvm.memory.pools.G1-Old-Gen.usage`, ...: bytes, and ratios named `usage`. */
  readonly memory: MetricSet;
  /** `jvm.garbagecollector.G1-Young-Generation.count`, `.time` (ms). */
  readonly garbagecollector: MetricSet;
}

const USAGE_KEYS = ['init', 'used', 'committed', 'max'] as const;

/** A value that is missing from the reading gets no gauge: missing is not zero. */
export function createJvmGauges({ classes, heap, nonHeap, pools, collectors }: JvmReading): JvmGauges {
  const classloader = new Map<string, Gauge>();
  put(classloader, 'jvm.classloader.loaded', classes.loaded);
  put(classloader, 'jvm.classloader.unloaded', classes.unloaded);

  const memory = new Map<string, Gauge>();
  putUsage(memory, 'jvm.memory.heap', heap);
  putUsage(memory, 'jvm.memory.non-heap', nonHeap);
  putTotal(memory, heap, nonHeap);
  for (const [name, pool] of pools) {
    const prefix = `jvm.memory.pools.${formatGaugeName(name)}`;
    putUsage(memory, prefix, pool);
    put(memory, `${prefix}.used-after-gc`, pool.usedAfterGc);
  }

  const garbagecollector = new Map<string, Gauge>();
  for (const [name, { count, timeMs }] of collectors) {
    put(garbagecollector, `jvm.garbagecollector.${formatGaugeName(name)}.count`, count);
    put(garbagecollector, `jvm.garbagecollector.${formatGaugeName(name)}.time`, timeMs);
  }
  return { classloader: setOf(classloader), memory: setOf(memory), garbagecollector: setOf(garbagecollector) };
}

export function joinJvmGauges({ classloader, memory, garbagecollector }: JvmGauges): MetricSet {
  return unionOf(classloader, memory, garbagecollector);
}

function putUsage(gauges: Map<string, Gauge>, prefix: string, usage: MemoryUsage): void {
  for (const key of USAGE_KEYS) put(gauges, `${prefix}.${key}`, usage[key]);
  const { used, max, committed } = usage;
  // Without a limit the ratio is used / committed, as in Dropwizard since 4.2.16.
  const whole = max === -1 ? committed : max;
  // 0 / 0, e.g. for an empty survivor space, is NaN, as in Dropwizard.
  if (used !== undefined && whole !== undefined) put(gauges, `${prefix}.usage`, used / whole, 'double');
}

function putTotal(gauges: Map<string, Gauge>, heap: MemoryUsage, nonHeap: MemoryUsage): void {
  for (const key of USAGE_KEYS) {
    const [a, b] = [heap[key], nonHeap[key]];
    if (a === undefined || b === undefined) continue;
    put(gauges, `jvm.memory.total.${key}`, key === 'max' && (a === -1 || b === -1) ? -1 : a + b);
  }
}

function put(
  gauges: Map<string, Gauge>,
  name: string,
  value: number | undefined,
  type: Gauge['type'] = 'integer',
): void {
  if (value !== undefined) gauges.set(name, { type, read: () => value });
}

/** `G1-Eden-Space` for `G1 Eden Space`, as Dropwizard does it. */
function formatGaugeName(name: string): string {
  return name.replace(/\s+/g, '-');
}

function setOf(gauges: ReadonlyMap<string, Gauge>): MetricSet {
  return { ...emptyMetricSet, gauges };
}
