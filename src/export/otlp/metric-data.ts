/** Converts the tables of `/metrics` to OpenTelemetry's metrics, with the same names, labels and values. Pure. */

import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
import { AggregationTemporality, type DataPoint, DataPointType, type MetricData } from '@opentelemetry/sdk-metrics';
import { NS_PER_MS } from '../../base/clock.ts';
import type {
  DurationBucketsReading,
  ExponentialReading,
  Family,
  Sample,
  Table,
} from '../../base/metric-description.ts';

/** Times as seconds since 1970 and nanoseconds. */
export interface CollectionTimes {
  /** Since when the counters of a table count, e.g. `[1772352000, 5e8]`; `[0, 0]` if unknown. */
  readonly startOf: (table: Family) => HrTime;
  /** Time of this reading. */
  readonly end: HrTime;
}

type ValueOf<Type extends DataPointType> = Extract<MetricData, { dataPointType: Type }>['dataPoints'][number]['value'];
type Histogram = ValueOf<DataPointType.HISTOGRAM>;
type Exponential = ValueOf<DataPointType.EXPONENTIAL_HISTOGRAM>;

/** Units by the ending of the name in `/metrics`, in UCUM by OpenTelemetry's convention; other names have no unit. */
const UNITS = [
  [/_seconds(?:_total|_sum)?$/, 's'],
  [/_bytes(?:_total)?$/, 'By'],
] as const;

/**
 * Appends the metrics of `tables` to `into`. Each step reads one sample. A table without samples gives no metric. An
 * OTLP summary does not fit values with only a count and a sum, so these become two counters: `<name>_count` and
 * `<name>_sum`.
 */
export function* collectMetrics(
  tables: Iterable<Table>,
  { startOf, end }: CollectionTimes,
  into: MetricData[],
): Generator<void, void, undefined> {
  for (const table of tables) {
    const found = new TableMetrics(table, startOf(table), end);
    for (const sample of table.samples()) {
      found.add(sample);
      yield;
    }
    into.push(...found.metrics());
  }
}

/** Collects the metrics of one table; a summary gives two. */
class TableMetrics {
  readonly #table: Table;
  readonly #startTime: HrTime;
  readonly #endTime: HrTime;
  readonly #numbers: DataPoint<number>[] = [];
  readonly #histograms: DataPoint<Histogram>[] = [];
  readonly #exponentials: DataPoint<Exponential>[] = [];
  readonly #counts: DataPoint<number>[] = [];
  readonly #sums: DataPoint<number>[] = [];

  constructor(table: Table, startTime: HrTime, endTime: HrTime) {
    this.#table = table;
    this.#startTime = startTime;
    this.#endTime = endTime;
  }

  add(sample: Sample): void {
    const { value } = sample;
    const attributes = toAttributes(this.#table, sample);
    if (typeof value === 'number') this.#numbers.push(this.#point(attributes, value));
    else if ('cumulative' in value) this.#addHistogram(attributes, value);
    else {
      if (value.count !== undefined) this.#counts.push(this.#point(attributes, value.count));
      if (value.sum !== undefined) this.#sums.push(this.#point(attributes, value.sum));
    }
  }

  #addHistogram(attributes: Attributes, value: DurationBucketsReading): void {
    const { exponential } = value;
    if (exponential === undefined) this.#histograms.push(this.#point(attributes, toHistogram(value)));
    else this.#exponentials.push(this.#point(attributes, toExponential(exponential, value.sumSeconds)));
  }

  *metrics(): Generator<MetricData> {
    const { name, type } = this.#table;
    const common = { aggregationTemporality: AggregationTemporality.CUMULATIVE };
    const sum = (of: string, dataPoints: DataPoint<number>[]): MetricData => ({
      ...{ ...common, dataPointType: DataPointType.SUM, isMonotonic: true },
      ...{ descriptor: this.#descriptor(of), dataPoints },
    });
    if (this.#histograms.length > 0) {
      const dataPoints = this.#histograms;
      yield { ...common, dataPointType: DataPointType.HISTOGRAM, descriptor: this.#descriptor(name), dataPoints };
    }
    if (this.#exponentials.length > 0) {
      const dataPoints = this.#exponentials;
      const dataPointType = DataPointType.EXPONENTIAL_HISTOGRAM;
      yield { ...common, dataPointType, descriptor: this.#descriptor(name), dataPoints };
    }
    if (this.#counts.length > 0) yield sum(`${name}_count`, this.#counts);
    if (this.#sums.length > 0) yield sum(`${name}_sum`, this.#sums);
    if (this.#numbers.length === 0) return;
    if (type === 'counter') yield sum(name, this.#numbers);
    else {
      const dataPoints = this.#numbers;
      yield { ...common, dataPointType: DataPointType.GAUGE, descriptor: this.#descriptor(name), dataPoints };
    }
  }

  #descriptor(name: string): MetricData['descriptor'] {
    const unit = UNITS.find(([ending]) => ending.test(name))?.[1] ?? '';
    // A double holds every count that a process can reach.
    return { name, description: this.#table.help, unit, valueType: ValueType.DOUBLE };
  }

  #point<Value>(attributes: Attributes, value: Value): DataPoint<Value> {
    return { startTime: this.#startTime, endTime: this.#endTime, attributes, value };
  }
}

function toAttributes({ labels }: Family, { labels: values }: Sample): Attributes {
  const attributes: Attributes = {};
  for (let i = 0; i < labels.length; i += 1) attributes[labels[i] as string] = toWellFormed(values[i] ?? '');
  return attributes;
}

/** OTLP's buckets are not cumulative. */
function toHistogram(value: DurationBucketsReading): Histogram {
  const cumulative = value.cumulative();
  const counts = cumulative.map((count, i) => count - (cumulative[i - 1] ?? 0));
  return { buckets: { boundaries: [...value.bounds], counts }, count: cumulative.at(-1) ?? 0, sum: value.sumSeconds };
}

function toExponential({ scale, zeroCount, offset, counts }: ExponentialReading, sum: number): Exponential {
  const count = counts.reduce((total, bucket) => total + bucket, zeroCount);
  const none = { offset: 0, bucketCounts: [] };
  return { count, sum, scale, zeroCount, positive: { offset, bucketCounts: [...counts] }, negative: none };
}

const HALF_PAIR = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Escapes a lone surrogate, which has no UTF-8, as `/metrics` does, so that different names stay different. */
export function toWellFormed(text: string): string {
  return text.replace(HALF_PAIR, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`);
}

/** OpenTelemetry's time as seconds and nanoseconds, e.g. `[1, 500250000]` for 1500.25 ms; since 1970, or a duration. */
export function toHrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000);
  // Capped, since rounding up to a whole second would need a carry.
  return [seconds, Math.min(999_999_999, Math.round((ms - seconds * 1_000) * NS_PER_MS))];
}
