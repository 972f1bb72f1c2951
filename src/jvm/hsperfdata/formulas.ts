/**
 * Converts counters to the values of the platform's MXBeans. Values that the file does not have are left out: code
 * heaps, and so all of non-heap; the limit of Metaspace (the file has only its reserved address space); memory in use
 * after a collection; `init` where a counter of 0 means unknown.
 */
import type { JvmReading, PoolUsage } from '../jvm-reading.ts';
import { type Collector, identifyCollector, readCollectorUsages } from './collectors.ts';
import type { Counters } from './counters.ts';
import { computeHeap } from './heap-formulas.ts';
import { bytesOf, countOf, dropImplausible, sum } from './plausible.ts';

interface CountersReading {
  readonly reading: JvmReading;
  readonly collector: Collector;
}

export function computeReading(counters: Counters): CountersReading {
  const collector = identifyCollector(counters);
  const { heap, pools, memory } = computeHeap(counters, collector);
  const collectors = readCollectorUsages(counters, collector);
  const allPools = new Map([...pools, ...readMetaspaces(counters)]);
  return {
    collector,
    reading: { classes: readClasses(counters), heap, nonHeap: {}, pools: allPools, collectors, memory },
  };
}

/** The file counts classes of the shared archive separately, the MXBean counts all together. */
function readClasses(counters: Counters): JvmReading['classes'] {
  const loaded = sum(countOf(counters, 'java.cls.loadedClasses'), countOf(counters, 'java.cls.sharedLoadedClasses'));
  const unloaded = sum(
    countOf(counters, 'java.cls.unloadedClasses'),
    countOf(counters, 'java.cls.sharedUnloadedClasses'),
  );
  if ((unloaded ?? 0) > (loaded ?? Number.MAX_SAFE_INTEGER)) return {};
  return { loaded, unloaded };
}

/** As of the last collection (Shenandoah: at most 100 ms old). Until the first one they are 0, an impossible value. */
function readMetaspaces(counters: Counters): ReadonlyMap<string, PoolUsage> {
  const pools = new Map<string, PoolUsage>();
  const written = (name: string) => bytesOf(counters, name) || undefined;
  pools.set(
    'Metaspace',
    dropImplausible({
      init: counters.numbers.has('sun.gc.metaspace.used') ? 0 : undefined,
      used: written('sun.gc.metaspace.used'),
      committed: written('sun.gc.metaspace.capacity'),
    }),
  );
  const max = written('sun.gc.compressedclassspace.maxCapacity');
  // 0 without compressed class pointers: then this pool does not exist.
  if (max !== undefined) {
    const used = written('sun.gc.compressedclassspace.used');
    const committed = written('sun.gc.compressedclassspace.capacity');
    pools.set('Compressed Class Space', dropImplausible({ init: 0, used, committed, max }));
  }
  return pools;
}
