/** Which deviations of one source, at one JVM, the list of exceptions excuses. */
import type { JvmReading } from '../../../../src/jvm/jvm-reading.ts';
import type { Beans } from '../../../support/jvm/truth/beans.ts';
import type { Deviation } from '../../../support/jvm/truth/comparison.ts';
import type { Gauges } from '../../../support/jvm/truth/expected-gauges.ts';
import { EXCEPTIONS, type Exception, type SourceName, toGaugePattern } from './exceptions.ts';
import type { Collector, Jvm } from './truth.ts';

interface Row {
  readonly exception: Exception;
  readonly pattern: RegExp;
}

export class Excuses {
  readonly #rows: readonly Row[];

  constructor(source: SourceName, jvm: Jvm, collector: Collector) {
    this.#rows = EXCEPTIONS.filter(
      ({ sources, collectors, sinceJdk = 0 }) =>
        sources.includes(source) && (collectors === 'all' || collectors.includes(collector)) && jvm.major >= sinceJdk,
    ).map((exception) => ({ exception, pattern: toGaugePattern(exception) }));
  }

  /** The deviations that no row excuses. */
  unexcusedOf(found: readonly Deviation[], beans: Beans, { memory }: JvmReading): readonly Deviation[] {
    const rows = this.#rows.filter(
      ({ exception }) =>
        (exception.isBeforeFirstGc !== true || hasNoCollectionYet(beans)) &&
        (exception.isLabelled !== true || memory === 'after-gc'),
    );
    const isExcused = (deviation: Deviation) =>
      rows.some(({ exception, pattern }) => pattern.test(deviation.gauge) && isWithin(exception, deviation));
    const excused = new Set(found.filter(isExcused).map(({ gauge }) => gauge));
    return found.filter((deviation) => !excused.has(deviation.gauge) && !isShareOf(deviation, excused));
  }

  /** Gauges that are given although a row says that they are absent. */
  given(gauges: Gauges, expected: Gauges, beans: Beans): readonly string[] {
    const absent = this.#rows.filter(
      ({ exception }) =>
        exception.kind === 'absent' && (exception.isBeforeFirstGc !== true || hasNoCollectionYet(beans)),
    );
    return [...expected.keys()].filter(
      (gauge) => gauges.has(gauge) && absent.some(({ pattern }) => pattern.test(gauge)),
    );
  }
}

function isWithin({ kind, atMost = 0 }: Exception, deviation: Deviation): boolean {
  if (kind === 'absent') return deviation.kind === 'missing';
  return deviation.kind === 'differs' && Math.abs(deviation.difference) <= atMost;
}

/** A share of two numbers one of which is excused. */
function isShareOf({ kind, gauge }: Deviation, excused: ReadonlySet<string>): boolean {
  if (kind !== 'differs' || !gauge.endsWith('.usage')) return false;
  const prefix = gauge.slice(0, -'usage'.length);
  return excused.has(`${prefix}used`) || excused.has(`${prefix}committed`);
}

function hasNoCollectionYet({ collectors }: Beans): boolean {
  return Object.values(collectors).every(({ count }) => count === 0);
}
