/** The deviations that the list of exceptions excuses for one source and one JVM. */
import type { JvmReading } from '../../../../src/jvm/jvm-source.ts';
import type { Beans, Gauges } from '../../../support/jvm/truth/beans.ts';
import type { Deviation } from '../../../support/jvm/truth/comparison.ts';
import { EXCEPTIONS, type SourceName, toGaugePattern } from './exceptions.ts';
import type { Collector, Jvm } from './truth.ts';

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
