/**
 * The fields of each kind of metric, in the order in which Dropwizard's `MetricsModule` writes them. Values are JSON already.
 * Types belong to fields, not to values: a rate of 1 is `1.0`, since consumers derive a column's type from the first value.
 */
import { NS_PER_MS, NS_PER_S } from '../../clock.ts';
import type { CounterReading } from '../../metrics/counter.ts';
import type { Gauge } from '../../metrics/gauge.ts';
import type { MeterReading, MeterSnapshot } from '../../metrics/meter.ts';
import type { TimerReading } from '../../metrics/timer.ts';
import { toJavaDouble, toJavaInteger, toJsonText } from './java-text.ts';

export type Fields = readonly (readonly [key: string, json: string])[];

export type DurationUnit = 'seconds' | 'milliseconds';

/** Reciprocals, because the library multiplies: dividing gives other last digits (924149 ns is 9.241490000000001E-4 s). */
const UNITS_PER_NS: Readonly<Record<DurationUnit, number>> = {
  seconds: 1 / NS_PER_S,
  milliseconds: 1 / NS_PER_MS,
};

/** `{ value }`, or `{ error }` alone if the gauge throws. */
export function gaugeFields(gauge: Gauge): Fields {
  try {
    return [['value', gaugeJson(gauge)]];
  } catch (cause) {
    // As in Java, where `toString` of an exception is its class and message.
    return [['error', toJsonText(String(cause))]];
  }
}

function gaugeJson(gauge: Gauge): string {
  const value = gauge.read();
  if (value === null) return 'null';
  if (typeof value === 'string') return toJsonText(value);
  return gauge.type === 'integer' ? toJavaInteger(value) : toJavaDouble(value);
}

export function counterFields(counter: CounterReading): Fields {
  return [['count', toJavaInteger(counter.count)]];
}

export function meterFields(meter: MeterReading): Fields {
  const rates = meter.snapshot();
  return [['count', toJavaInteger(rates.count)], ...rateFields(rates), ['units', '"events/second"']];
}

export function timerFields(timer: TimerReading, unit: DurationUnit): Fields {
  const snapshot = timer.snapshot();
  const perNs = UNITS_PER_NS[unit];
  return [
    ['count', toJavaInteger(snapshot.count)],
    ['max', toJavaDouble(snapshot.max * perNs)],
    ['mean', toJavaDouble(snapshot.mean * perNs)],
    ['min', toJavaDouble(snapshot.min * perNs)],
    ['p50', toJavaDouble(snapshot.p50 * perNs)],
    ['p75', toJavaDouble(snapshot.p75 * perNs)],
    ['p95', toJavaDouble(snapshot.p95 * perNs)],
    ['p98', toJavaDouble(snapshot.p98 * perNs)],
    ['p99', toJavaDouble(snapshot.p99 * perNs)],
    ['p999', toJavaDouble(snapshot.p999 * perNs)],
    ['stddev', toJavaDouble(snapshot.stddev * perNs)],
    ...rateFields(snapshot.rates),
    ['duration_units', `"${unit}"`],
    ['rate_units', '"calls/second"'],
  ];
}

/** 15 before 1 before 5: the library's order. */
function rateFields(rates: MeterSnapshot): Fields {
  return [
    ['m15_rate', toJavaDouble(rates.m15)],
    ['m1_rate', toJavaDouble(rates.m1)],
    ['m5_rate', toJavaDouble(rates.m5)],
    ['mean_rate', toJavaDouble(rates.mean)],
  ];
}
