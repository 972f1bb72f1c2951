/** Converts the tables of `/metrics` to OpenTelemetry's metrics, with the same names, labels and values. Pure. */

import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import { AggregationTemporality, type DataPoint, DataPointType, type MetricData } from '@opentelemetry/sdk-metrics';
import { NS_PER_MS } from '../../base/clock.ts';
import type {
  DurationBucketsReading,
  ExponentialReading,
  Family,
  Sample,
  Table,
} from '../../base/metric-description.ts';

/** What metrics and spans are of. */
export interface Origin {
  readonly resource: Resource;
  readonly scope: { readonly name: string; readonly version: string };
}

/** Times as seconds since 1970 and nanoseconds. */
interface CollectionTimes {
  /** Since when the counters of a table count, e.g. `[1772352000, 5e8]`; `[0, 0]` if unknown. */
  readonly startOf: (table: Family) => HrTime;
  /** Time of this reading. */
  readonly end: HrTime;
}

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
    const metrics = new Map<string, TableMetric>();
    const times = { startTime: startOf(table), endTime: end };
    for (const sample of table.samples()) {
      const attributes = createAttributes(table, sample);
      for (const { suffix = '', type, value } of pointsOf(table, sample)) {
        const name = `${table.name}${suffix}`;
        const metric = metrics.get(`${type} ${name}`) ?? createMetric(type, name, table.help);
        metrics.set(`${type} ${name}`, metric);
        metric.dataPoints.push({ ...times, attributes, value });
      }
      yield;
    }
    into.push(...([...metrics.values()] as MetricData[]));
  }
}

/** MetricData without the connection between type and values. */
interface TableMetric extends Pick<MetricData, 'aggregationTemporality' | 'descriptor'> {
  readonly dataPointType: DataPointType;
  readonly isMonotonic: boolean;
  readonly dataPoints: DataPoint<unknown>[];
}

function createMetric(type: DataPointType, name: string, description: string): TableMetric {
  const unit = UNITS.find(([ending]) => ending.test(name))?.[1] ?? '';
  return {
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
    dataPointType: type,
    isMonotonic: type === DataPointType.SUM,
    // A double holds every count that a process can reach.
    descriptor: { name, description, unit, valueType: ValueType.DOUBLE },
    dataPoints: [],
  };
}

function pointsOf({ type }: Table, { value }: Sample): { suffix?: string; type: DataPointType; value: unknown }[] {
  const { SUM, GAUGE, HISTOGRAM, EXPONENTIAL_HISTOGRAM } = DataPointType;
  if (typeof value === 'number') return [{ type: type === 'counter' ? SUM : GAUGE, value }];
  if ('cumulative' in value) {
    const { exponential, sumSeconds } = value;
    if (exponential === undefined) return [{ type: HISTOGRAM, value: createHistogram(value) }];
    return [{ type: EXPONENTIAL_HISTOGRAM, value: createExponential(exponential, sumSeconds) }];
  }
  const { count, sum } = value;
  return [
    ...(count === undefined ? [] : [{ suffix: '_count', type: SUM, value: count }]),
    ...(sum === undefined ? [] : [{ suffix: '_sum', type: SUM, value: sum }]),
  ];
}

function createAttributes({ labels }: Family, { labels: values }: Sample): Attributes {
  const attributes: Attributes = {};
  for (let i = 0; i < labels.length; i += 1) attributes[labels[i] as string] = escapeHalfPairs(values[i] ?? '');
  return attributes;
}

/** OTLP's buckets are not cumulative. */
function createHistogram(value: DurationBucketsReading) {
  const cumulative = value.cumulative();
  const counts = cumulative.map((count, i) => count - (cumulative[i - 1] ?? 0));
  return { buckets: { boundaries: [...value.bounds], counts }, count: cumulative.at(-1) ?? 0, sum: value.sumSeconds };
}

function createExponential({ scale, zeroCount, offset, counts }: ExponentialReading, sum: number) {
  const count = counts.reduce((total, bucket) => total + bucket, zeroCount);
  const none = { offset: 0, bucketCounts: [] };
  return { count, sum, scale, zeroCount, positive: { offset, bucketCounts: [...counts] }, negative: none };
}

const HALF_PAIR = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Escapes a lone surrogate, which has no UTF-8, as `/metrics` does, so that different names stay different. */
export function escapeHalfPairs(text: string): string {
  return text.replace(HALF_PAIR, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`);
}

/** OpenTelemetry's time as seconds and nanoseconds, e.g. `[1, 500250000]` for 1500.25 ms; since 1970, or a duration. */
export function toHrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000);
  // Capped, since rounding up to a whole second would need a carry.
  return [seconds, Math.min(999_999_999, Math.round((ms - seconds * 1_000) * NS_PER_MS))];
}
