/**
 * The gauges that Dropwizard Metrics 4.2 (ClassLoadingGaugeSet, MemoryUsageGaugeSet, GarbageCollectorMetricSet) would show
 * for these MXBeans, under the names of endpoint 13. Written from the library's behaviour, not from src/jvm/gauges.ts.
 */
import type { Beans, BeanUsage } from './beans.ts';

/** E.g. `jvm.memory.pools.G1-Old-Gen.used` => 17219352. */
export type Gauges = ReadonlyMap<string, number>;

export function expectedGauges(beans: Beans): Gauges {
  const { heap, nonHeap } = beans;
  const gauges = new Map<string, number>([
    ['jvm.classloader.loaded', beans.classes.loaded],
    ['jvm.classloader.unloaded', beans.classes.unloaded],
    ['jvm.memory.total.init', heap.init + nonHeap.init],
    ['jvm.memory.total.used', heap.used + nonHeap.used],
    ['jvm.memory.total.committed', heap.committed + nonHeap.committed],
    ['jvm.memory.total.max', nonHeap.max === -1 ? -1 : heap.max + nonHeap.max],
    ...usageGauges('jvm.memory.heap', heap),
    ...usageGauges('jvm.memory.non-heap', nonHeap),
  ]);
  for (const [name, pool] of Object.entries(beans.pools)) {
    const prefix = `jvm.memory.pools.${withoutSpaces(name)}`;
    for (const [gauge, value] of usageGauges(prefix, pool.usage)) gauges.set(gauge, value);
    if (pool.collectionUsage !== null) gauges.set(`${prefix}.used-after-gc`, pool.collectionUsage.used);
  }
  for (const [name, { count, timeMs }] of Object.entries(beans.collectors)) {
    gauges.set(`jvm.garbagecollector.${withoutSpaces(name)}.count`, count);
    gauges.set(`jvm.garbagecollector.${withoutSpaces(name)}.time`, timeMs);
  }
  return gauges;
}

function usageGauges(prefix: string, { init, used, committed, max }: BeanUsage): [string, number][] {
  return [
    [`${prefix}.init`, init],
    [`${prefix}.used`, used],
    [`${prefix}.committed`, committed],
    [`${prefix}.max`, max],
    [`${prefix}.usage`, used / (max === -1 ? committed : max)],
  ];
}

function withoutSpaces(name: string): string {
  return name.split(/\s+/).join('-');
}
