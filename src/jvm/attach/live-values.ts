/** Chooses which values of the attach socket replace those of the counters file, and adds up totals. */

import type { VisibleJvm } from '../hsperfdata/hsperfdata-source.ts';
import type { JvmReading, MemoryUsage, PoolUsage } from '../jvm-source.ts';
import type { CodeHeapInfo, FlagsInfo, HeapInfo, MetaspaceInfo } from './parse-answers.ts';

export interface LiveValues {
  readonly heap?: HeapInfo | undefined;
  readonly metaspace?: MetaspaceInfo | undefined;
  readonly codeHeaps?: readonly CodeHeapInfo[] | undefined;
  readonly flags?: FlagsInfo | undefined;
}

type LiveJvm = Pick<VisibleJvm, 'collector' | 'jdkMajor'> & { readonly architecture: string };

const METASPACE = 'Metaspace';
const CLASS_SPACE = 'Compressed Class Space';
const SHENANDOAH = 'Shenandoah';
const SHENANDOAH_MODES_OF_ONE_POOL = ['satb', 'iu', 'passive'];
/** The newest JDK whose default mode is known to be one of them. */
const SHENANDOAH_ONE_POOL_BY_DEFAULT_JDK = 25;
const NO_LIMIT = -1;
/** Initial size of a code heap unless InitialCodeCacheSize is set: 2496 KiB. */
const INITIAL_CODE_HEAP_BYTES_X64 = 2_555_904;
const PAGE_BYTES = 4096;

/** Returns the reading with the better values of `live`. */
export function layOver(reading: JvmReading, live: LiveValues, jvm: LiveJvm): JvmReading {
  const info = isHeapOf(jvm, live.heap) ? live.heap : undefined;
  const heap = mergeHeap(reading.heap, info, live.flags);
  const isUsedOurs = info !== undefined && heap !== reading.heap && heap.used === info.used && info.used !== undefined;

  const pools = new Map(reading.pools);
  for (const [name, usage] of Object.entries(info?.pools ?? {})) {
    // Generational ZGC has other pools, and its text has only the whole heap.
    if (name !== 'ZHeap' || pools.has(name)) lay(pools, name, usage);
  }
  if (jvm.collector === 'Shenandoah') {
    // Without generations, its only pool is the heap. With generations it has two others, without known values.
    if (hasOnePool(jvm, live.flags) ?? pools.has(SHENANDOAH)) pools.set(SHENANDOAH, heap);
    else pools.delete(SHENANDOAH);
  }
  const nonHeapPools = nonHeapPoolsOf(live, jvm);
  if (live.metaspace !== undefined && live.metaspace.classSpace === undefined) pools.delete(CLASS_SPACE);
  for (const [name, usage] of nonHeapPools) lay(pools, name, usage);

  const hasAll = live.metaspace !== undefined && live.codeHeaps !== undefined;
  const nonHeap = hasAll ? sumOf([...nonHeapPools.values()]) : reading.nonHeap;
  return { ...reading, heap, nonHeap, pools, memory: isUsedOurs ? 'live' : reading.memory };
}

/** Two sources that disagree on the collector describe different JVMs. */
export function isHeapOf({ collector }: Pick<VisibleJvm, 'collector'>, info: HeapInfo | undefined): boolean {
  return collector === undefined || (collector === 'GenerationalZGC' ? 'ZGC' : collector) === info?.kind;
}

/** Returns `base` itself if the result would be impossible. */
function mergeHeap(base: MemoryUsage, info: HeapInfo | undefined, flags: FlagsInfo | undefined): MemoryUsage {
  const isG1 = info?.kind === 'G1';
  // G1's text counts regions being filled as full, up to 2 MB more than the MXBean; its counters are always fresh.
  const used = isG1 ? (base.used ?? info.used) : (info?.used ?? base.used);
  const committed = isG1 ? (base.committed ?? info.committed) : (info?.committed ?? base.committed);
  return selectPossible(base, {
    // The MXBean's `init` is this flag with every collector.
    init: flags?.initialHeapSize ?? base.init,
    used,
    committed,
    max: selectMax(base.max, committed, info, flags),
  });
}

function selectMax(
  base: number | undefined,
  committed: number | undefined,
  info: HeapInfo | undefined,
  flags: FlagsInfo | undefined,
): number | undefined {
  // MaxHeapSize is too large for Serial: the MXBean leaves one survivor space out.
  if (info === undefined || info.kind === 'Serial') return base;
  if (info.kind === 'Parallel') return base === undefined ? undefined : Math.max(base, committed ?? base);
  return base ?? info.max ?? flags?.maxHeapSize;
}

function hasOnePool({ jdkMajor }: LiveJvm, flags: FlagsInfo | undefined): boolean | undefined {
  const mode = flags?.shenandoahMode;
  if (mode === undefined) return undefined;
  if (mode !== 'default') return SHENANDOAH_MODES_OF_ONE_POOL.includes(mode);
  return jdkMajor !== undefined && jdkMajor <= SHENANDOAH_ONE_POOL_BY_DEFAULT_JDK ? true : undefined;
}

function nonHeapPoolsOf({ metaspace, codeHeaps = [], flags }: LiveValues, { architecture }: LiveJvm) {
  const pools = new Map<string, MemoryUsage>();
  if (metaspace !== undefined) {
    const { classSpace, ...both } = metaspace;
    pools.set(METASPACE, { init: 0, ...both });
    if (classSpace !== undefined) pools.set(CLASS_SPACE, { init: 0, ...classSpace });
  }
  // The initial size was never compared with the MXBean on other processors, and with large pages.
  const isInitKnown = flags !== undefined && architecture === 'x64' && !flags.hasLargePages;
  for (const { name, ...usage } of codeHeaps) {
    const bytes = Math.min(flags?.initialCodeCacheSize ?? INITIAL_CODE_HEAP_BYTES_X64, usage.max);
    const init = isInitKnown ? Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES : undefined;
    pools.set(name, { init, ...usage });
  }
  return pools;
}

/** Counts the class space twice, like the MXBean: it is also a part of Metaspace. */
function sumOf(pools: readonly MemoryUsage[]): MemoryUsage {
  const sum = (key: keyof MemoryUsage) => {
    const values = pools.map((pool) => pool[key]);
    if (key === 'max' && values.includes(NO_LIMIT)) return NO_LIMIT;
    return values.reduce((all, value) => (all === undefined || value === undefined ? undefined : all + value), 0);
  };
  return { init: sum('init'), used: sum('used'), committed: sum('committed'), max: sum('max') };
}

function lay(pools: Map<string, PoolUsage>, name: string, usage: PoolUsage): void {
  const base = pools.get(name) ?? {};
  const known = Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== undefined));
  pools.set(name, selectPossible(base, { ...base, ...known }));
}

/** The two sources are read at two moments: a result that contradicts itself is not shown. */
function selectPossible<U extends MemoryUsage>(base: U, usage: U): U {
  const { used, committed, max } = usage;
  const limit = max === undefined || max === NO_LIMIT ? Number.POSITIVE_INFINITY : max;
  const isPossible =
    (used ?? 0) <= (committed ?? Number.POSITIVE_INFINITY) && Math.max(used ?? 0, committed ?? 0) <= limit;
  return isPossible ? usage : base;
}
