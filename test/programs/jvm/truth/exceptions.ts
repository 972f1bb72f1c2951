/**
 * Where a source cannot agree with the MXBeans, and by how much it differs. Everything else must agree. The table in
 * docs/jvm.md has the same rows in the same order, with the measurement and the reason.
 */
import type { JvmReading } from '../../../../src/jvm/jvm-source.ts';
import type { Beans, Gauges } from '../../../support/jvm/truth/beans.ts';
import type { Deviation } from '../../../support/jvm/truth/comparison.ts';
import type { Collector, Jvm } from './truth.ts';

export type SourceName = 'hsperfdata' | 'hsperfdata+attach';

interface Exception {
  /** Without the leading `jvm.`; `*` stands for anything, `{a,b}` for either. */
  readonly gauges: readonly string[];
  readonly sources: readonly SourceName[];
  /** Default: all. */
  readonly collectors?: readonly Collector[];
  /** First release to which it applies. Default: all. */
  readonly sinceJdk?: number;
  /**
   * How many bytes or ms it may differ from the bean. Default: the gauge is absent. A gauge without a bean is never
   * excused.
   */
  readonly atMost?: number;
  /** Applies only until the first collection. */
  readonly isBeforeFirstGc?: true;
  /** Applies only to readings that state that their memory is that of the last collection. */
  readonly isLabelled?: true;
}

const FILE: readonly SourceName[] = ['hsperfdata'];
const OVERLAID: readonly SourceName[] = ['hsperfdata+attach'];
const BOTH: readonly SourceName[] = ['hsperfdata', 'hsperfdata+attach'];
const COPIED: readonly Collector[] = ['serial', 'parallel'];
const Z: readonly Collector[] = ['z', 'z-generational'];
const SHENANDOAH: readonly Collector[] = ['shenandoah', 'shenandoah-generational'];
const OTHERS: readonly Collector[] = [...COPIED, 'g1', ...Z];
const MIB = 1_048_576;
const Z_PAGE = 2 * MIB;

const METASPACE = 'memory.pools.Metaspace.{used,committed}';
const CLASS_SPACE = 'memory.pools.Compressed-Class-Space.{used,committed,usage}';
const BOTH_SPACES = 'memory.pools.{Metaspace,Compressed-Class-Space}.{used,committed}';
const CODE = 'memory.pools.{CodeHeap-*,CodeCache}.*';
const beforeFirstGc = { isBeforeFirstGc: true } as const;

function row(sources: readonly SourceName[], gauges: readonly string[], more: Partial<Exception> = {}): Exception {
  return { sources, gauges, ...more };
}

export const EXCEPTIONS: readonly Exception[] = [
  row(BOTH, ['memory.pools.*.used-after-gc']),
  row(FILE, ['memory.non-heap.*', 'memory.total.*', CODE]),
  row(FILE, ['memory.pools.Metaspace.{max,usage}']),
  row(FILE, [METASPACE, CLASS_SPACE], { collectors: OTHERS, ...beforeFirstGc }),
  row(FILE, [BOTH_SPACES], { collectors: OTHERS, atMost: 384 * 1024 }),
  row(FILE, ['memory.heap.init'], { collectors: COPIED }),
  row(BOTH, ['memory.pools.*{Eden,Survivor}-Space.init'], { collectors: COPIED }),
  row(FILE, ['memory.heap.{used,usage}', 'memory.pools.*{Space,Gen}.{used,usage}'], {
    ...{ collectors: COPIED, sinceJdk: 25, ...beforeFirstGc },
  }),
  row(FILE, ['memory.heap.used', 'memory.pools.*{Space,Gen}.used'], {
    ...{ collectors: COPIED, sinceJdk: 25, isLabelled: true, atMost: 12 * MIB },
  }),
  row(BOTH, ['memory.{heap,total,pools.G1-Old-Gen}.{used,committed}'], {
    ...{ collectors: ['g1'], ...beforeFirstGc, atMost: 2 * MIB },
  }),
  row(FILE, ['memory.heap.{used,usage}', 'memory.pools.Z*.{used,usage}'], { collectors: Z, ...beforeFirstGc }),
  row(FILE, ['memory.heap.used', 'memory.pools.Z*.used'], { collectors: Z, isLabelled: true, atMost: 6 * Z_PAGE }),
  row(OVERLAID, ['memory.pools.ZGC-*.{used,usage}'], { collectors: ['z-generational'], ...beforeFirstGc }),
  row(OVERLAID, ['memory.pools.ZGC-*.used'], { collectors: ['z-generational'], atMost: 6 * Z_PAGE }),
  row(BOTH, ['memory.pools.ZGC-*.committed'], { collectors: ['z-generational'], atMost: 4 * Z_PAGE }),
  row(BOTH, ['garbagecollector.*.time'], { collectors: OTHERS, atMost: 1 }),
  row(BOTH, ['garbagecollector.ZGC-*Cycles.*'], { collectors: Z }),
  row(FILE, ['memory.heap.init'], { collectors: ['z'] }),
  row(FILE, ['memory.heap.committed', 'memory.pools.ZHeap.committed'], { collectors: ['z'], ...beforeFirstGc }),
  row(BOTH, ['memory.pools.Shenandoah-{Young,Old}-Gen.*'], { collectors: ['shenandoah-generational'] }),
  row(FILE, ['memory.pools.Shenandoah.*'], { collectors: ['shenandoah'], sinceJdk: 24 }),
  row(BOTH, ['garbagecollector.Shenandoah-*'], { collectors: SHENANDOAH }),
];

function toGaugePattern({ gauges }: Exception): RegExp {
  const escaped = gauges.map((gauge) => gauge.replace(/[.+?^$()|[\]\\]/g, '\\$&').replaceAll('*', '.*'));
  const alternatives = escaped.map((gauge) =>
    gauge.replace(/\{([^}]*)\}/g, (_, any: string) => `(?:${any.replaceAll(',', '|')})`),
  );
  return new RegExp(`^jvm\\.(?:${alternatives.join('|')})$`);
}

/** The first cells of its row in docs/jvm.md: gauges, sources and JVMs. */
export function toDocumentCells({ gauges, sources, collectors, sinceJdk }: Exception): readonly string[] {
  const jvms = collectors?.join(', ') ?? 'all';
  return [
    gauges.map((gauge) => `\`${gauge}\``).join(', '),
    sources.map((source) => `\`${source}\``).join(', '),
    sinceJdk === undefined ? jvms : `${jvms}; JDK ${sinceJdk} and later`,
  ];
}

/** The deviations that the exceptions excuse for one source and one JVM. */
export class Excuses {
  readonly #rows;

  constructor(source: SourceName, jvm: Jvm, collector: Collector) {
    this.#rows = EXCEPTIONS.filter(
      ({ sources, collectors, sinceJdk = 0 }) =>
        sources.includes(source) && collectors?.includes(collector) !== false && jvm.major >= sinceJdk,
    ).map((exception) => ({ ...exception, pattern: toGaugePattern(exception) }));
  }

  unexcusedOf(found: readonly Deviation[], beans: Beans, { memory }: JvmReading): readonly Deviation[] {
    const rows = this.#rowsFor(beans).filter(({ isLabelled }) => isLabelled !== true || memory === 'after-gc');
    const isExcused = (deviation: Deviation) =>
      rows.some(({ pattern, atMost }) => pattern.test(deviation.gauge) && isWithin(atMost, deviation));
    const excused = new Set(found.filter(isExcused).map(({ gauge }) => gauge));
    return found.filter((deviation) => !excused.has(deviation.gauge) && !isShareOf(deviation, excused));
  }

  /** Gauges that are present although a row says that they are absent. */
  given(gauges: Gauges, expected: Gauges, beans: Beans): readonly string[] {
    const absent = this.#rowsFor(beans).filter(({ atMost }) => atMost === undefined);
    return [...expected.keys()].filter(
      (gauge) => gauges.has(gauge) && absent.some(({ pattern }) => pattern.test(gauge)),
    );
  }

  #rowsFor({ collectors }: Beans) {
    const hasNoCollectionYet = Object.values(collectors).every(({ count }) => count === 0);
    return this.#rows.filter(({ isBeforeFirstGc }) => isBeforeFirstGc !== true || hasNoCollectionYet);
  }
}

function isWithin(atMost: number | undefined, deviation: Deviation): boolean {
  if (atMost === undefined) return deviation.kind === 'missing';
  return deviation.kind === 'differs' && Math.abs(deviation.difference) <= atMost;
}

/** The share of two numbers, one of which is excused. */
function isShareOf({ kind, gauge }: Deviation, excused: ReadonlySet<string>): boolean {
  if (kind !== 'differs' || !gauge.endsWith('.usage')) return false;
  const prefix = gauge.slice(0, -'usage'.length);
  return excused.has(`${prefix}used`) || excused.has(`${prefix}committed`);
}
