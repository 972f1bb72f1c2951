/**
 * The fields of each kind of metric, in the order of Dropwizard's `MetricsModule`, with values in JSON. The type
 * belongs to the field, not to the value: a rate of 1 is `1.0`, since consumers derive a column's type from the first
 * value.
 */
import { NS_PER_MS, NS_PER_S } from '../../base/clock.ts';
import type { Gauge } from '../../metrics/gauge.ts';
import type { MeterReading } from '../../metrics/meter.ts';
import type { CounterReading } from '../../metrics/metric-set.ts';
import type { TimerReading } from '../../metrics/timer.ts';
import { formatJavaDouble, formatJavaInteger, formatJsonText } from './java-text.ts';

/** Keys and JSON values, as two lists: thousands of timers share one list of 17 keys. */
export interface MetricFields {
  /** The same array object for the same keys. */
  readonly keys: readonly string[];
  readonly values: readonly string[];
}

export type DurationUnit = 'seconds' | 'milliseconds';

/** Reciprocals, as in the library: dividing would change the last digits (924149 ns is 9.241490000000001E-4 s). */
const UNITS_PER_NS: Readonly<Record<DurationUnit, number>> = {
  seconds: 1 / NS_PER_S,
  milliseconds: 1 / NS_PER_MS,
};

const VALUE = ['value'];
const ERROR = ['error'];
const COUNT = ['count'];
/** The library's order: 15 before 1 before 5. */
const RATES = ['m15_rate', 'm1_rate', 'm5_rate', 'mean_rate'];
const METER = [...COUNT, ...RATES, 'units'];
const DURATIONS = ['max', 'mean', 'min', 'p50', 'p75', 'p95', 'p98', 'p99', 'p999', 'stddev'];
const TIMER = [...COUNT, ...DURATIONS, ...RATES, 'duration_units', 'rate_units'];

/** `{ value }`, or only `{ error }` if the gauge throws. */
export function gaugeFields(gauge: Gauge): MetricFields {
  try {
    return { keys: VALUE, values: [gaugeJson(gauge)] };
  } catch (cause) {
    // As in Java, where `toString` of an exception gives its class and message.
    return { keys: ERROR, values: [formatJsonText(String(cause))] };
  }
}

function gaugeJson(gauge: Gauge): string {
  const value = gauge.read();
  if (value === null) return 'null';
  if (typeof value === 'string') return formatJsonText(value);
  return gauge.type === 'integer' ? formatJavaInteger(value) : formatJavaDouble(value);
}

export function counterFields(counter: CounterReading): MetricFields {
  return { keys: COUNT, values: [formatJavaInteger(counter.count)] };
}

export function meterFields(meter: MeterReading): MetricFields {
  const { count, m15, m1, m5, mean } = meter.snapshot();
  return {
    keys: METER,
    values: [
      formatJavaInteger(count),
      formatJavaDouble(m15),
      formatJavaDouble(m1),
      formatJavaDouble(m5),
      formatJavaDouble(mean),
      '"events/second"',
    ],
  };
}

export function timerFields(timer: TimerReading, unit: DurationUnit): MetricFields {
  const { count, max, mean, min, p50, p75, p95, p98, p99, p999, stddev, rates } = timer.snapshot();
  const perNs = UNITS_PER_NS[unit];
  return {
    keys: TIMER,
    values: [
      formatJavaInteger(count),
      formatJavaDouble(max * perNs),
      formatJavaDouble(mean * perNs),
      formatJavaDouble(min * perNs),
      formatJavaDouble(p50 * perNs),
      formatJavaDouble(p75 * perNs),
      formatJavaDouble(p95 * perNs),
      formatJavaDouble(p98 * perNs),
      formatJavaDouble(p99 * perNs),
      formatJavaDouble(p999 * perNs),
      formatJavaDouble(stddev * perNs),
      formatJavaDouble(rates.m15),
      formatJavaDouble(rates.m1),
      formatJavaDouble(rates.m5),
      formatJavaDouble(rates.mean),
      `"${unit}"`,
      '"calls/second"',
    ],
  };
}
