/** Identifies a JVM's collector, and reads the counts and times of its collections. */
import type { CollectorUsage } from '../jvm-reading.ts';
import type { Counters } from './counters.ts';
import { countOf, millisecondsOf } from './plausible.ts';

/** `unknown`: a collector whose counters were never compared with its MXBeans, e.g. CMS or Epsilon. */
export type Collector = 'Serial' | 'Parallel' | 'G1' | 'ZGC' | 'GenerationalZGC' | 'Shenandoah' | 'unknown';

const POLICIES: ReadonlyMap<string, Collector> = new Map([
  ['Copy:MSC', 'Serial'],
  ['ParScav:MSC', 'Parallel'],
  ['GarbageFirst', 'G1'],
]);

/** The first JDK with an MXBean for G1's concurrent collections; the counter is older. */
const G1_CONCURRENT_BEAN_JDK = 20;

export function toCollector({ texts, numbers }: Counters): Collector {
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
function beansOf(collector: Collector, jdkMajor: number | undefined): readonly (readonly [string, number])[] {
  switch (collector) {
    case 'Serial':
      return [
        ['Copy', 0],
        ['MarkSweepCompact', 1],
      ];
    case 'Parallel':
      return [
        ['PS Scavenge', 0],
        ['PS MarkSweep', 1],
      ];
    case 'G1': {
      const hasConcurrentBean = jdkMajor !== undefined && jdkMajor >= G1_CONCURRENT_BEAN_JDK;
      const concurrent = hasConcurrentBean ? ([['G1 Concurrent GC', 2]] as const) : [];
      return [['G1 Young Generation', 0], ['G1 Old Generation', 1], ...concurrent];
    }
    case 'ZGC':
      return [['ZGC Pauses', 2]];
    case 'GenerationalZGC':
      return [
        ['ZGC Minor Pauses', 0],
        ['ZGC Major Pauses', 2],
      ];
    // Shenandoah's counters count every phase, 60 where the MXBean has 18 pauses, so they are not used.
    case 'Shenandoah':
    case 'unknown':
      return [];
  }
}

/** By MXBean name; for an unknown collector by the file's. ZGC's cycles and Shenandoah have no usable counters. */
export function toCollectors(counters: Counters, collector: Collector): ReadonlyMap<string, CollectorUsage> {
  const beans = collector === 'unknown' ? rawBeans(counters) : beansOf(collector, counters.jdkMajor);
  const collectors = new Map<string, CollectorUsage>();
  for (const [name, index] of beans) {
    const count = countOf(counters, `sun.gc.collector.${index}.invocations`);
    const timeMs = millisecondsOf(counters, `sun.gc.collector.${index}.time`);
    if (count === undefined && timeMs === undefined) continue;
    collectors.set(name, {
      ...(count === undefined ? {} : { count }),
      ...(timeMs === undefined ? {} : { timeMs }),
    });
  }
  return collectors;
}

function rawBeans({ texts }: Counters): readonly (readonly [string, number])[] {
  const beans: [string, number][] = [];
  for (let index = 0; index < 8; index += 1) {
    const name = texts.get(`sun.gc.collector.${index}.name`);
    // The name becomes part of a gauge's name: allow only characters that HotSpot uses.
    if (name === undefined || !/^[A-Za-z0-9][A-Za-z0-9 -]*$/.test(name) || beans.some((bean) => bean[0] === name))
      continue;
    beans.push([name, index]);
  }
  return beans;
}
