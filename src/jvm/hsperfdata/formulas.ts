/**
 * From counters to what the platform's MXBeans would say. What the file cannot tell is left out: code heaps, and with them
 * all of non-heap; the limit of Metaspace (the file has its reserved address space only); what is in use after a collection;
 * `init` where the counter is 0 for unknown.
 */
import type { JvmReading, PoolUsage } from '../jvm-reading.ts';
import { type Collector, toCollector, toCollectors } from './collectors.ts';
import type { Counters } from './counters.ts';
import { toHeap } from './heap-formulas.ts';
import { bytesOf, countOf, sum, toPlausibleUsage } from './plausible.ts';

export interface CountersReading {
  readonly reading: JvmReading;
  readonly collector: Collector;
}

export function toReading(counters: Counters): CountersReading {
  const collector = toCollector(counters);
  const { heap, pools, memory } = toHeap(counters, collector);
  const collectors = toCollectors(counters, collector);
  const allPools = new Map([...pools, ...toMetaspaces(counters)]);
  return {
    collector,
    reading: { classes: toClasses(counters), heap, nonHeap: {}, pools: allPools, collectors, memory },
  };
}

/** Classes of the shared archive are counted apart in the file, and together by the bean. */
function toClasses(counters: Counters): JvmReading['classes'] {
  const loaded = sum(countOf(counters, 'java.cls.loadedClasses'), countOf(counters, 'java.cls.sharedLoadedClasses'));
  const unloaded = sum(
    countOf(counters, 'java.cls.unloadedClasses'),
    countOf(counters, 'java.cls.sharedUnloadedClasses'),
  );
  if (loaded !== undefined && unloaded !== undefined && unloaded > loaded) return {};
  return {
    ...(isCount(loaded) ? { loaded } : {}),
    ...(isCount(unloaded) ? { unloaded } : {}),
  };
}

function isCount(value: number | undefined): value is number {
  return Number.isSafeInteger(value);
}

/** As of the last collection (Shenandoah: at most 100 ms old); 0, which cannot be, until the first. */
function toMetaspaces(counters: Counters): ReadonlyMap<string, PoolUsage> {
  const pools = new Map<string, PoolUsage>();
  const written = (name: string) => bytesOf(counters, name) || undefined;
  pools.set(
    'Metaspace',
    toPlausibleUsage({
      init: counters.numbers.has('sun.gc.metaspace.used') ? 0 : undefined,
      used: written('sun.gc.metaspace.used'),
      committed: written('sun.gc.metaspace.capacity'),
    }),
  );
  const max = written('sun.gc.compressedclassspace.maxCapacity');
  // 0 without compressed class pointers: then there is no such pool.
  if (max !== undefined) {
    const used = written('sun.gc.compressedclassspace.used');
    const committed = written('sun.gc.compressedclassspace.capacity');
    pools.set('Compressed Class Space', toPlausibleUsage({ init: 0, used, committed, max }));
  }
  return pools;
}
