import type { DurationBucketsReading } from '../../metrics/duration-buckets.ts';

/** `info` is a gauge of 1 that carries its information in labels; Prometheus' text format has no such type. */
export type FamilyType = 'counter' | 'gauge' | 'histogram' | 'summary' | 'info';

export interface Family {
  /** The name in queries: counters end in `_total`, infos in `_info`; e.g. `d2_calls_total`. */
  readonly name: string;
  readonly type: FamilyType;
  /** One sentence without quotes, backslashes and line ends, so that it needs no escaping. */
  readonly help: string;
  readonly labels: readonly string[];
}

/** Count, and sum in seconds, of a summary without quantiles; unknown values are absent. */
export interface Summary {
  readonly count?: number | undefined;
  readonly sum?: number | undefined;
}

export interface Sample {
  /** In the order of the family's labels. For Prometheus an empty label is the same as none. */
  readonly labels: readonly string[];
  readonly value: number | Summary | DurationBucketsReading;
}

/** A family and its samples. Each sample is read when it is written. Without samples the family is not shown. */
export interface Table extends Family {
  samples(): Iterable<Sample>;
}

/** A table of one sample without labels; absent while `value` is undefined. */
export function single(type: 'counter' | 'gauge', name: string, help: string, value: () => number | undefined): Table {
  return {
    ...{ type, name, help, labels: [] },
    *samples() {
      const read = value();
      if (read !== undefined) yield { labels: [], value: read };
    },
  };
}

/** A table with one label, from a record or map of its values. */
export function labelled(
  family: { readonly type: 'counter' | 'gauge'; readonly name: string; readonly help: string; readonly label: string },
  values: () => Readonly<Record<string, number>> | ReadonlyMap<string, number>,
): Table {
  const { label, ...rest } = family;
  return {
    ...{ ...rest, labels: [label] },
    *samples() {
      const read = values();
      const entries = read instanceof Map ? read.entries() : Object.entries(read as Record<string, number>);
      for (const [of, value] of entries) yield { labels: [of], value };
    },
  };
}
