/** Identifies a JVM's collector, and reads the counts and times of its collections. */
import type { CollectorUsage } from '../jvm-source.ts';
import { type Counters, countOf, millisecondsOf } from './counters.ts';

/** `unknown`: a collector whose counters were never compared with its MXBeans, e.g. CMS or Epsilon. */
export type Collector = 'Serial' | 'Parallel' | 'G1' | 'ZGC' | 'GenerationalZGC' | 'Shenandoah' | 'unknown';

const POLICIES: ReadonlyMap<string, Collector> = new Map([
  ['Copy:MSC', 'Serial'],
  ['ParScav:MSC', 'Parallel'],
  ['GarbageFirst', 'G1'],
]);

export function identifyCollector({ texts, numbers }: Counters): Collector {
  const policy = texts.get('sun.gc.policy.name');
  if (policy !== undefined) return POLICIES.get(policy) ?? 'unknown';
  // ZGC and Shenandoah have no policy.
  const [name0, name1, name2] = [0, 1, 2].map((index) => texts.get(`sun.gc.collector.${index}.name`));
  if (name1?.startsWith('Shenandoah ')) return 'Shenandoah';
  if (name0 === 'ZGC minor collection pauses' && name2 === 'ZGC major collection pauses') return 'GenerationalZGC';
  const hasYoung = name0 !== undefined || numbers.has('sun.gc.generation.0.capacity');
  return !hasYoung && name2 !== undefined && /^Z(?:GC)? .*cycle pauses$/.test(name2) ? 'ZGC' : 'unknown';
}

/** MXBean names, each with the index of its counters. */
const BEANS: Readonly<Record<Exclude<Collector, 'unknown'>, Readonly<Record<string, number>>>> = {
  Serial: { Copy: 0, MarkSweepCompact: 1 },
  Parallel: { 'PS Scavenge': 0, 'PS MarkSweep': 1 },
  G1: { 'G1 Young Generation': 0, 'G1 Old Generation': 1 },
  ZGC: { 'ZGC Pauses': 2 },
  GenerationalZGC: { 'ZGC Minor Pauses': 0, 'ZGC Major Pauses': 2 },
  // Its counters count every phase, 60 where the MXBean has 18 pauses, so they are not used.
  Shenandoah: {},
};
/** The first JDK with an MXBean for G1's concurrent collections; the counter is older. */
const G1_CONCURRENT_BEAN_JDK = 20;

/** By MXBean name; for an unknown collector by the file's. ZGC's cycles and Shenandoah have no usable counters. */
export function readCollectorUsages(counters: Counters, collector: Collector): ReadonlyMap<string, CollectorUsage> {
  const collectors = new Map<string, CollectorUsage>();
  for (const [name, index] of beansOf(counters, collector)) {
    const count = countOf(counters, `sun.gc.collector.${index}.invocations`);
    const timeMs = millisecondsOf(counters, `sun.gc.collector.${index}.time`);
    if (count !== undefined || timeMs !== undefined) collectors.set(name, { count, timeMs });
  }
  return collectors;
}

function beansOf({ texts, jdkMajor = 0 }: Counters, collector: Collector): Iterable<readonly [string, number]> {
  const hasConcurrent = collector === 'G1' && jdkMajor >= G1_CONCURRENT_BEAN_JDK;
  if (hasConcurrent) return Object.entries({ ...BEANS.G1, 'G1 Concurrent GC': 2 });
  if (collector !== 'unknown') return Object.entries(BEANS[collector]);
  const beans = new Map<string, number>();
  for (let index = 0; index < 8; index += 1) {
    const name = texts.get(`sun.gc.collector.${index}.name`);
    // The name becomes part of a gauge's name: allow only characters that HotSpot uses.
    const isUsable = name !== undefined && /^[A-Za-z0-9][A-Za-z0-9 -]*$/.test(name);
    if (isUsable && !beans.has(name)) beans.set(name, index);
  }
  return beans;
}
