/**
 * The fields of each kind of metric, in the order of Dropwizard's `MetricsModule`, with values in JSON. The type
 * belongs to the field, not to the value: a rate of 1 is `1.0`, since consumers derive a column's type from the first
 * value.
 */
import { NS_PER_MS, NS_PER_S } from '../../base/clock.ts';
import type { Gauge } from '../../metrics/gauge.ts';
import type { MeterReading, MeterSnapshot } from '../../metrics/meter.ts';
import type { CounterReading } from '../../metrics/metric-set.ts';
import type { TimerReading } from '../../metrics/timer.ts';
import { formatJavaDouble, formatJavaInteger, formatJsonText } from './java-text.ts';

/** JSON values by key, in order: `{ count: '3' }`. */
export type MetricFields = Readonly<Record<string, string>>;

export type DurationUnit = 'seconds' | 'milliseconds';

/** Reciprocals, as in the library: dividing would change the last digits (924149 ns is 9.241490000000001E-4 s). */
const UNITS_PER_NS: Readonly<Record<DurationUnit, number>> = {
  seconds: 1 / NS_PER_S,
  milliseconds: 1 / NS_PER_MS,
};

/** `{ value }`, or only `{ error }` if the gauge throws. */
export function gaugeFields(gauge: Gauge): MetricFields {
  try {
    return { value: gaugeJson(gauge) };
  } catch (cause) {
    // As in Java, where `toString` of an exception gives its class and message.
    return { error: formatJsonText(String(cause)) };
  }
}

function gaugeJson(gauge: Gauge): string {
  const value = gauge.read();
  if (value === null) return 'null';
  if (typeof value === 'string') return formatJsonText(value);
  return gauge.type === 'integer' ? formatJavaInteger(value) : formatJavaDouble(value);
}

export function counterFields(counter: CounterReading): MetricFields {
  return { count: formatJavaInteger(counter.count) };
}

export function meterFields(meter: MeterReading): MetricFields {
  const rates = meter.snapshot();
  return { count: formatJavaInteger(rates.count), ...rateFields(rates), units: '"events/second"' };
}

export function timerFields(timer: TimerReading, unit: DurationUnit): MetricFields {
  const snapshot = timer.snapshot();
  const formatDuration = (ns: number) => formatJavaDouble(ns * UNITS_PER_NS[unit]);
  return {
    count: formatJavaInteger(snapshot.count),
    max: formatDuration(snapshot.max),
    mean: formatDuration(snapshot.mean),
    min: formatDuration(snapshot.min),
    p50: formatDuration(snapshot.p50),
    p75: formatDuration(snapshot.p75),
    p95: formatDuration(snapshot.p95),
    p98: formatDuration(snapshot.p98),
    p99: formatDuration(snapshot.p99),
    p999: formatDuration(snapshot.p999),
    stddev: formatDuration(snapshot.stddev),
    ...rateFields(snapshot.rates),
    duration_units: `"${unit}"`,
    rate_units: '"calls/second"',
  };
}

/** In the library's order: 15 before 1 before 5. */
function rateFields({ m15, m1, m5, mean }: MeterSnapshot): MetricFields {
  return {
    m15_rate: formatJavaDouble(m15),
    m1_rate: formatJavaDouble(m1),
    m5_rate: formatJavaDouble(m5),
    mean_rate: formatJavaDouble(mean),
  };
}
