/**
 * Where a source cannot agree with the MXBeans, and how far it is off. Whatever is not listed here has to agree. The table in
 * docs/jvm.md says the same, and a test holds it equal to this list.
 */
import type { Collector } from './truth.ts';

export type SourceName = 'hsperfdata' | 'hsperfdata+attach';

export interface Exception {
  /** Without the leading `jvm.`; `*` stands for anything, `{a,b}` for either. */
  readonly gauges: readonly string[];
  readonly sources: readonly SourceName[];
  readonly collectors: readonly Collector[] | 'all';
  /** First release that it holds for. Default: all. */
  readonly sinceJdk?: number;
  /** `absent`: never given. `differs`: may differ from the bean by `atMost`. A gauge that no bean has is never excused. */
  readonly kind: 'absent' | 'differs';
  /** Holds until the first collection only. */
  readonly isBeforeFirstGc?: boolean;
  /** Holds only for readings that say themselves that their memory is as of the last collection. */
  readonly isLabelled?: boolean;
  /** Bytes or ms. A bound for what the test does to the JVM, which is what `measured` came from. */
  readonly atMost?: number;
  readonly measured: string;
  readonly reason: string;
}

const FILE: readonly SourceName[] = ['hsperfdata'];
const OVERLAID: readonly SourceName[] = ['hsperfdata+attach'];
const BOTH: readonly SourceName[] = ['hsperfdata', 'hsperfdata+attach'];

const MIB = 1_048_576;
const Z_PAGE = 2 * MIB;

const GENERATIONS_COPIED: readonly Collector[] = ['serial', 'parallel'];
const Z: readonly Collector[] = ['z', 'z-generational'];
const SHENANDOAH: readonly Collector[] = ['shenandoah', 'shenandoah-generational'];
const ALL_BUT_SHENANDOAH: readonly Collector[] = ['serial', 'parallel', 'g1', 'z', 'z-generational'];

export const EXCEPTIONS: readonly Exception[] = [
  {
    gauges: ['memory.pools.*.used-after-gc'],
    sources: BOTH,
    collectors: 'all',
    kind: 'absent',
    measured: 'left out',
    reason: 'neither source has it',
  },
  {
    gauges: ['memory.non-heap.*', 'memory.total.*', 'memory.pools.{CodeHeap-*,CodeCache}.*'],
    sources: FILE,
    collectors: 'all',
    kind: 'absent',
    measured: 'left out',
    reason: 'the file has no counters of the code heaps',
  },
  {
    gauges: ['memory.pools.Metaspace.{max,usage}'],
    sources: FILE,
    collectors: 'all',
    kind: 'absent',
    measured: 'left out',
    reason: 'the file has the reserved address space, not the limit',
  },
  {
    gauges: ['memory.pools.Metaspace.{used,committed}', 'memory.pools.Compressed-Class-Space.{used,committed,usage}'],
    sources: FILE,
    collectors: ALL_BUT_SHENANDOAH,
    kind: 'absent',
    isBeforeFirstGc: true,
    measured: 'left out until the first collection',
    reason: 'only collections write these counters',
  },
  {
    gauges: ['memory.pools.{Metaspace,Compressed-Class-Space}.{used,committed}'],
    sources: FILE,
    collectors: ALL_BUT_SHENANDOAH,
    kind: 'differs',
    atMost: 384 * 1024,
    measured: 'as of the last collection',
    reason: 'the same',
  },
  {
    gauges: ['memory.heap.init'],
    sources: FILE,
    collectors: GENERATIONS_COPIED,
    kind: 'absent',
    measured: 'left out',
    reason: 'the counters are right with -Xms only',
  },
  {
    gauges: ['memory.pools.*{Eden,Survivor}-Space.init'],
    sources: BOTH,
    collectors: GENERATIONS_COPIED,
    kind: 'absent',
    measured: 'left out',
    reason: 'neither source has it',
  },
  {
    gauges: ['memory.heap.{used,usage}', 'memory.pools.*{Space,Gen}.{used,usage}'],
    sources: FILE,
    collectors: GENERATIONS_COPIED,
    sinceJdk: 25,
    kind: 'absent',
    isBeforeFirstGc: true,
    measured: 'left out until the first collection',
    reason: 'only collections write these counters',
  },
  {
    gauges: ['memory.heap.used', 'memory.pools.*{Space,Gen}.used'],
    sources: FILE,
    collectors: GENERATIONS_COPIED,
    sinceJdk: 25,
    kind: 'differs',
    isLabelled: true,
    atMost: 12 * MIB,
    measured: 'as of the last collection',
    reason: 'the same; eden is always 0',
  },
  {
    gauges: ['memory.{heap,total,pools.G1-Old-Gen}.{used,committed}'],
    sources: BOTH,
    collectors: ['g1'],
    kind: 'differs',
    isBeforeFirstGc: true,
    atMost: 2 * MIB,
    measured: 'until the first collection: up to 2.1 MB too low',
    reason: 'the regions of archived classes are not counted yet',
  },
  {
    gauges: ['memory.heap.{used,usage}', 'memory.pools.Z*.{used,usage}'],
    sources: FILE,
    collectors: Z,
    kind: 'absent',
    isBeforeFirstGc: true,
    measured: 'left out until the first cycle',
    reason: 'ZGC writes these counters at its cycles',
  },
  {
    gauges: ['memory.heap.used', 'memory.pools.Z*.used'],
    sources: FILE,
    collectors: Z,
    kind: 'differs',
    isLabelled: true,
    atMost: 6 * Z_PAGE,
    measured: 'as of the last cycle',
    reason: 'the same',
  },
  {
    gauges: ['memory.pools.ZGC-*.{used,usage}'],
    sources: OVERLAID,
    collectors: ['z-generational'],
    kind: 'absent',
    isBeforeFirstGc: true,
    measured: 'left out until the first cycle',
    reason: 'the attach socket has the whole heap only',
  },
  {
    gauges: ['memory.pools.ZGC-*.used'],
    sources: OVERLAID,
    collectors: ['z-generational'],
    kind: 'differs',
    atMost: 6 * Z_PAGE,
    measured: 'as of the last cycle; the heap itself is live',
    reason: 'the same',
  },
  {
    gauges: ['memory.pools.ZGC-*.committed'],
    sources: BOTH,
    collectors: ['z-generational'],
    kind: 'differs',
    atMost: 4 * Z_PAGE,
    measured: 'up to 4.2 MB moved between the generations',
    reason: 'the split of the heap is as of the last cycle',
  },
  {
    gauges: ['garbagecollector.*.time'],
    sources: BOTH,
    collectors: ALL_BUT_SHENANDOAH,
    kind: 'differs',
    atMost: 1,
    measured: 'up to 1 ms too high; counts are exact',
    reason: 'the counter measures about 1 µs more for each pause',
  },
  {
    gauges: ['garbagecollector.ZGC-*Cycles.*'],
    sources: BOTH,
    collectors: Z,
    kind: 'absent',
    measured: 'left out; the pauses are exact',
    reason: 'the file has no counters of cycles',
  },
  {
    gauges: ['memory.heap.init'],
    sources: FILE,
    collectors: ['z'],
    kind: 'absent',
    measured: 'left out, unless -Xms equals -Xmx',
    reason: 'the counter is the smallest heap',
  },
  {
    gauges: ['memory.heap.committed', 'memory.pools.ZHeap.committed'],
    sources: FILE,
    collectors: ['z'],
    kind: 'absent',
    isBeforeFirstGc: true,
    measured: 'left out until the first cycle, unless -Xms equals -Xmx',
    reason: 'until then, the counter is the smallest heap',
  },
  {
    gauges: ['memory.pools.Shenandoah-{Young,Old}-Gen.*'],
    sources: BOTH,
    collectors: ['shenandoah-generational'],
    kind: 'absent',
    measured: 'left out; the heap as a whole is live',
    reason: 'neither source has the generations',
  },
  {
    gauges: ['memory.pools.Shenandoah.*'],
    sources: FILE,
    collectors: ['shenandoah'],
    sinceJdk: 24,
    kind: 'absent',
    measured: 'left out; the heap has the same',
    reason: 'the file does not have the mode',
  },
  {
    gauges: ['garbagecollector.Shenandoah-*'],
    sources: BOTH,
    collectors: SHENANDOAH,
    kind: 'absent',
    measured: 'left out',
    reason: 'the counters count every phase, not every pause',
  },
];

/** What an exception matches is tried often, and so made once. */
export function toGaugePattern({ gauges }: Exception): RegExp {
  const alternatives = gauges.map((gauge) =>
    gauge
      .replace(/[.+?^$()|[\]\\]/g, '\\$&')
      .replace(/\*/g, '.*')
      .replace(/\{/g, '(?:')
      .replace(/\}/g, ')')
      .replace(/,/g, '|'),
  );
  return new RegExp(`^jvm\\.(?:${alternatives.join('|')})$`);
}

/** The line of docs/jvm.md, cells trimmed, e.g. `| a | b |`. */
export function toDocumentLine({ gauges, sources, collectors, sinceJdk, measured }: Exception): string {
  const jvms = collectors === 'all' ? 'all' : collectors.join(', ');
  const cells = [
    gauges.map((gauge) => `\`${gauge}\``).join(', '),
    sources.map((source) => `\`${source}\``).join(', '),
    sinceJdk === undefined ? jvms : `${jvms}; JDK ${sinceJdk} and later`,
    measured,
  ];
  return `| ${cells.join(' | ')} |`;
}
