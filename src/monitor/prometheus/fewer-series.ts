/** Adds up samples of names and objects that shall have no series of their own: `metrics.prometheus`. */

import type { DurationBucketsReading, Family, MetricValue, Sample, Table } from '../../base/metric-description.ts';
import type { Config } from '../../config/config.ts';
import { OTHER_NAME } from '../../metrics/name-table.ts';

export type SeriesOptions = Config['metrics']['prometheus'];

/** `undefined` marks a point to pause: samples that are added up write nothing. */
export type SlicedTable = Family & { samples(): Iterable<Sample | undefined> };

/** `false`: had series, and gave way in the table of names. Its counts are in `(other)`, and so are later calls. */
type Admitted = Map<string, boolean>;

export class FewerSeries {
  readonly #options: SeriesOptions;
  /** By application and kind. Names stay until the restart, so that no counter falls. */
  readonly #admitted = new Map<string, Admitted>();

  constructor(options: SeriesOptions = { objects: 'all' }) {
    this.#options = options;
  }

  /** The same tables, some with fewer samples. Sums over names stay the same. */
  apply(tables: readonly Table[]): readonly SlicedTable[] {
    return tables.map((table) => {
      const at = table.labels.indexOf('name');
      if (at < 0) return table;
      const isOfObjects = !table.labels.includes('kind');
      if (isOfObjects && this.#options.objects === 'totals') return withoutLabel(table, at);
      const { names } = this.#options;
      return names === undefined ? table : { ...table, samples: () => this.#samples(table, at, names) };
    });
  }

  /** For a name whose counts have moved to `(other)`: if it returned with its series, its counters would fall. */
  fold(application: string, kind: 'rpc' | 'sba', name: string): void {
    const names = this.#admittedOf([application, kind]);
    if (names.has(name)) names.set(name, false);
  }

  /** Tables list names in the order in which they appeared. */
  *#samples(table: Table, at: number, max: number): Generator<Sample | undefined, void, undefined> {
    const rest = new Map<string, Sample>();
    for (const sample of table.samples()) {
      const [name = '', kind] = [sample.labels[at], sample.labels.slice(0, at)];
      const names = this.#admittedOf(kind);
      // Gauges have only some of the names, in another order.
      const isNew = table.type !== 'gauge' && name !== '' && name !== OTHER_NAME && !names.has(name);
      if (isNew && names.size < max) names.set(name, true);
      // Calls without a name are `''`.
      if (name === '' || names.get(name) === true) yield sample;
      else {
        addTo(rest, [...kind, OTHER_NAME, ...sample.labels.slice(at + 1)], sample.value);
        yield undefined;
      }
    }
    yield* rest.values();
  }

  #admittedOf(kind: readonly string[]): Admitted {
    const key = kind.join('\n');
    const names = this.#admitted.get(key) ?? new Map<string, boolean>();
    this.#admitted.set(key, names);
    return names;
  }
}

function withoutLabel(table: Table, at: number): SlicedTable {
  return {
    ...table,
    labels: table.labels.toSpliced(at, 1),
    *samples() {
      const sums = new Map<string, Sample>();
      for (const { labels, value } of table.samples()) {
        addTo(sums, labels.toSpliced(at, 1), value);
        yield undefined;
      }
      yield* sums.values();
    },
  };
}

function addTo(sums: Map<string, Sample>, labels: readonly string[], value: MetricValue): void {
  const key = JSON.stringify(labels);
  const before = sums.get(key);
  sums.set(key, { labels, value: before === undefined ? value : sum(before.value, value) });
}

/** Tables with names have numbers, or durations with the same bounds. */
function sum(a: MetricValue, b: MetricValue): MetricValue {
  if (typeof a === 'number' || typeof b === 'number') return Number(a) + Number(b);
  const [left, right] = [a as DurationBucketsReading, b as DurationBucketsReading];
  const counts = right.cumulative().map((count, i) => count + (left.cumulative()[i] ?? 0));
  return { bounds: left.bounds, sumSeconds: left.sumSeconds + right.sumSeconds, cumulative: () => counts };
}
