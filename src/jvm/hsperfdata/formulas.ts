/**
 * Converts counters to the values of the platform's MXBeans. Every formula was compared with the beans on JDK 17 and
 * 25: equal to the byte, except where a comment says otherwise. Values that the file does not have are left out: code
 * heaps, and so all of non-heap; the limit of Metaspace (the file has only its reserved address space); memory in use
 * after a collection; `init` where a counter of 0 means unknown.
 */
import type { CollectorUsage, JvmReading, MemoryUsage, PoolUsage } from '../jvm-source.ts';
import { bytesOf, type Counters, countOf, dropImplausible, millisecondsOf, sum } from './counters.ts';

type HeapReading = Pick<JvmReading, 'heap' | 'pools' | 'memory'>;

const NOTHING: HeapReading = { heap: {}, pools: new Map(), memory: 'after-gc' };
const NO_LIMIT = -1;
/** The first JDK with -XX:ShenandoahGCMode=generational (JEP 404). */
const SHENANDOAH_GENERATIONS_JDK = 24;

const FORMULAS: Readonly<Record<Collector, (counters: Counters) => HeapReading>> = {
  Serial: (counters) => serialOrParallel(counters, false),
  Parallel: (counters) => serialOrParallel(counters, true),
  G1: g1,
  ZGC: zgc,
  GenerationalZGC: generationalZgc,
  Shenandoah: shenandoah,
  unknown: () => NOTHING,
};

/** Parallel moves the borders between its spaces. No heap.init: the counters have only an explicit -Xms. */
function serialOrParallel(counters: Counters, isParallel: boolean): HeapReading {
  const [gen0, gen1] = [generationOf(counters, 0), generationOf(counters, 1)];
  const [eden, s1, s2] = [spaceOf(counters, 0, 0), spaceOf(counters, 0, 1), spaceOf(counters, 0, 2)];
  const [old, from] = [spaceOf(counters, 1, 0), survivorInUse(s1, s2)];
  // Up to JDK 24, HotSpot samples these counters every 50 ms, and counts ticks; later ones write them at collections.
  const memory = counters.numbers.has('sun.os.hrt.ticks') ? 'live' : 'after-gc';
  const isUnknown = memory === 'after-gc' && hasNoCollectionYet(counters, [0, 1]);
  const edenMax = isParallel ? minus(minus(gen0.maxCapacity, s1.capacity), s2.capacity) : eden.maxCapacity;
  const survivorMax = isParallel ? from?.capacity : from?.maxCapacity;
  const [prefix, oldName] = isParallel ? ['PS ', 'PS Old Gen'] : ['', 'Tenured Gen'];
  const pools = createPools({
    [`${prefix}Eden Space`]: { used: eden.used, committed: eden.capacity, max: edenMax },
    [`${prefix}Survivor Space`]: { used: from?.used, committed: from?.capacity, max: survivorMax },
    [oldName]: { init: old.initCapacity, used: old.used, committed: old.capacity, max: old.maxCapacity },
  });
  const committed = sumOf(pools, 'committed');
  // The MXBean counts one survivor space only.
  const max = minus(sum(gen0.maxCapacity, gen1.maxCapacity), s1.maxCapacity);
  // Parallel's MXBean never has a maximum below the committed size.
  const parallelMax = max === undefined || committed === undefined ? undefined : Math.max(max, committed);
  return createHeapReading(pools, memory, isUnknown, { max: isParallel ? parallelMax : max });
}

/** Updated at each new region and collection. Before the first one, `used` lacks the class archive's regions (1 MB). */
function g1(counters: Counters): HeapReading {
  const capacity = (name: string) => withoutPadding(bytesOf(counters, name));
  const space = (prefix: string, max: number | undefined): MemoryUsage => ({
    init: capacity(`${prefix}.initCapacity`),
    used: bytesOf(counters, `${prefix}.used`),
    committed: capacity(`${prefix}.capacity`),
    max,
  });
  const heapMax = capacity('sun.gc.generation.1.space.0.maxCapacity');
  const pools = createPools({
    'G1 Eden Space': space('sun.gc.generation.0.space.0', NO_LIMIT),
    // Space 1 exists, but is always empty.
    'G1 Survivor Space': space('sun.gc.generation.0.space.2', NO_LIMIT),
    'G1 Old Gen': space('sun.gc.generation.1.space.0', heapMax),
  });
  return createHeapReading(pools, 'live', false, {
    init: sumOf(pools, 'init'),
    max: heapMax,
  });
}

/**
 * For JDKs up to 23. The pool's MXBean and the counter report the minimum size as `init`. The heap's MXBean does not:
 * without -Xms its `init` is larger (96 MiB instead of 8). Until the first cycle the counter of the committed size is
 * the minimum size, too. So heap.init and that counter can be used only if minimum and maximum are equal.
 */
function zgc(counters: Counters): HeapReading {
  const { capacity, initCapacity, maxCapacity, used } = spaceOf(counters, 1, 0);
  const isFixed = initCapacity !== undefined && initCapacity === maxCapacity;
  const isUnknown = hasNoCollectionYet(counters, [2]);
  const usage: MemoryUsage = { used, committed: isUnknown && !isFixed ? undefined : capacity, max: maxCapacity };
  const pools = createPools({ ZHeap: { ...usage, init: initCapacity } });
  return createHeapReading(pools, 'after-gc', isUnknown, { ...usage, init: isFixed ? initCapacity : undefined });
}

function generationalZgc(counters: Counters): HeapReading {
  const [young, old] = [spaceOf(counters, 0, 0), spaceOf(counters, 1, 0)];
  const pools = createPools({
    'ZGC Young Generation': {
      // The MXBean's `init` is the heap's minimum. initCapacity is the whole heap's, 260 MB more without -Xms.
      init: generationOf(counters, 0).minCapacity,
      used: young.used,
      committed: young.capacity,
      max: young.maxCapacity,
    },
    'ZGC Old Generation': { init: old.initCapacity, used: old.used, committed: old.capacity, max: old.maxCapacity },
  });
  return createHeapReading(pools, 'after-gc', hasNoCollectionYet(counters, [0, 2]), {
    init: sum(young.initCapacity, old.initCapacity),
    // Each generation may take the whole heap.
    max: young.maxCapacity === old.maxCapacity ? old.maxCapacity : undefined,
  });
}

/**
 * A separate thread updates these counters, with or without collections. The file looks the same in the generational
 * mode, in which the JVM has two other pools. So for a JDK that has that mode, only the heap is reported.
 */
function shenandoah(counters: Counters): HeapReading {
  const { initCapacity, maxCapacity, used } = spaceOf(counters, 1, 0);
  // The space's own capacity is the maximum.
  const committed = generationOf(counters, 1).capacity;
  const usage: MemoryUsage = { init: initCapacity, used, committed, max: maxCapacity };
  const { jdkMajor } = counters;
  const hasOneMode = jdkMajor !== undefined && jdkMajor < SHENANDOAH_GENERATIONS_JDK;
  return createHeapReading(createPools(hasOneMode ? { Shenandoah: usage } : {}), 'live', false, usage);
}

type Space = ReturnType<typeof sizesOf>;

function spaceOf(counters: Counters, generation: 0 | 1, index: number) {
  return sizesOf(counters, `sun.gc.generation.${generation}.space.${index}`);
}

function generationOf(counters: Counters, generation: 0 | 1) {
  return sizesOf(counters, `sun.gc.generation.${generation}`);
}

/** A generation has no `used` and `initCapacity`, a space no `minCapacity`. */
function sizesOf(counters: Counters, prefix: string) {
  const of = (name: string) => bytesOf(counters, `${prefix}.${name}`);
  return {
    used: of('used'),
    capacity: of('capacity'),
    initCapacity: of('initCapacity'),
    minCapacity: of('minCapacity'),
    maxCapacity: of('maxCapacity'),
  };
}

/** The MXBean shows it. One of the two is always empty; if both are, either will do. Undefined if that is not known. */
function survivorInUse(s1: Space, s2: Space): Space | undefined {
  if (s1.used === undefined || s2.used === undefined || (s1.used > 0 && s2.used > 0)) return undefined;
  return s2.used > 0 ? s2 : s1;
}

/** A `used` of 0 may then mean that nothing was written. Also true if the number of collections is unknown. */
function hasNoCollectionYet(counters: Counters, indices: readonly number[]): boolean {
  return !indices.some((index) => (countOf(counters, `sun.gc.collector.${index}.invocations`) ?? 0) > 0);
}

/**
 * JDK 17 adds 8 bytes to each of G1's capacities so that none is 0. Capacities are whole regions of at least 1 MiB, so
 * the remainder shows whether 8 bytes were added. Any other remainder is damage.
 */
function withoutPadding(capacity: number | undefined): number | undefined {
  if (capacity === undefined) return undefined;
  const rest = capacity % MIN_G1_REGION_BYTES;
  return rest === 0 || rest === G1_PADDING_BYTES ? capacity - rest : undefined;
}

const MIN_G1_REGION_BYTES = 1_048_576;
const G1_PADDING_BYTES = 8;

function createPools(pools: Readonly<Record<string, MemoryUsage>>): ReadonlyMap<string, PoolUsage> {
  return new Map(Object.entries(pools).map(([name, usage]) => [name, dropImplausible(usage)]));
}

function sumOf(pools: ReadonlyMap<string, PoolUsage>, key: 'init' | 'used' | 'committed'): number | undefined {
  return sum(...[...pools.values()].map((pool) => pool[key]));
}

function minus(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined || b > a ? undefined : a - b;
}

/** `heap`: values that are not the sum of the pools. */
function createHeapReading(
  pools: ReadonlyMap<string, PoolUsage>,
  memory: HeapReading['memory'],
  isUsedUnknown: boolean,
  heap: MemoryUsage,
): HeapReading {
  const sums = { used: sumOf(pools, 'used'), committed: sumOf(pools, 'committed') };
  const plausible = dropImplausible({ ...sums, ...heap });
  if (!isUsedUnknown) return { heap: plausible, pools, memory };
  return {
    heap: { ...plausible, used: undefined },
    pools: new Map([...pools].map(([name, pool]) => [name, { ...pool, used: undefined }])),
    memory,
  };
}

export function computeReading(counters: Counters): { readonly reading: JvmReading; readonly collector: Collector } {
  const collector = identifyCollector(counters);
  const { heap, pools: heapPools, memory } = FORMULAS[collector](counters);
  const collectors = readCollectorUsages(counters, collector);
  const pools = new Map([...heapPools, ...readMetaspaces(counters)]);
  return { collector, reading: { classes: readClasses(counters), heap, nonHeap: {}, pools, collectors, memory } };
}

/** The file counts classes of the shared archive separately, the MXBean counts all together. */
function readClasses(counters: Counters): JvmReading['classes'] {
  const of = (name: string) => countOf(counters, `java.cls.${name}`);
  const loaded = sum(of('loadedClasses'), of('sharedLoadedClasses'));
  const unloaded = sum(of('unloadedClasses'), of('sharedUnloadedClasses'));
  if ((unloaded ?? 0) > (loaded ?? Number.MAX_SAFE_INTEGER)) return {};
  return { loaded, unloaded };
}

/** As of the last collection (Shenandoah: at most 100 ms old). Until the first one they are 0, an impossible value. */
function readMetaspaces(counters: Counters): ReadonlyMap<string, PoolUsage> {
  const written = (name: string) => bytesOf(counters, `sun.gc.${name}`) || undefined;
  const init = counters.numbers.has('sun.gc.metaspace.used') ? 0 : undefined;
  const pools = { Metaspace: { init, used: written('metaspace.used'), committed: written('metaspace.capacity') } };
  const max = written('compressedclassspace.maxCapacity');
  // 0 without compressed class pointers: then this pool does not exist.
  if (max === undefined) return createPools(pools);
  const [used, committed] = [written('compressedclassspace.used'), written('compressedclassspace.capacity')];
  return createPools({ ...pools, 'Compressed Class Space': { init: 0, used, committed, max } });
}

/** `unknown`: a collector whose counters were never compared with its MXBeans, e.g. CMS or Epsilon. */
export type Collector = 'Serial' | 'Parallel' | 'G1' | 'ZGC' | 'GenerationalZGC' | 'Shenandoah' | 'unknown';

const POLICIES: ReadonlyMap<string, Collector> = new Map([
  ['Copy:MSC', 'Serial'],
  ['ParScav:MSC', 'Parallel'],
  ['GarbageFirst', 'G1'],
]);

function identifyCollector({ texts, numbers }: Counters): Collector {
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
function readCollectorUsages(counters: Counters, collector: Collector): ReadonlyMap<string, CollectorUsage> {
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
