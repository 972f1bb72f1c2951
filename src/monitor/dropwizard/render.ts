/**
 * Writes metrics as `metrics-json` of Dropwizard Metrics 4 does, byte for byte, since tools read that form. Pure: it
 * knows metrics and text, and must not know HTTP or routes. It yields one metric at a time, so that the text can be
 * written in slices. A type belongs to the field, not to the value: a rate of 1 is `1.0`, since consumers derive a
 * column's type from the first value.
 */
import assert from 'node:assert/strict';
import { NS_PER_MS, NS_PER_S } from '../../base/clock.ts';
import type { MeterReading, MeterSnapshot } from '../../metrics/meter.ts';
import type { Gauge, MetricSet } from '../../metrics/metric-set.ts';
import type { TimerReading } from '../../metrics/timer.ts';
import type { Pieces } from '../json-pieces.ts';

/** A constant of Dropwizard's JSON module in all releases 4.x; neither the library's version nor ours. */
const VERSION = '4.0.0';

const STEP_NAMES = 500;

export interface RenderOptions {
  /** True: indented by two blanks. False: no blanks. */
  readonly pretty: boolean;
  readonly durationUnit: DurationUnit;
}

type Blanks = Readonly<typeof COMPACT>;

/** The whitespace of the compact or the indented form. Before each name, by depth: section, metric, field. */
const COMPACT = { section: '', metric: '', field: '', colon: ':', documentEnd: '', emptySection: '{}' };
const PRETTY: Blanks = {
  section: '\n  ',
  metric: '\n    ',
  field: '\n      ',
  colon: ' : ',
  documentEnd: '\n',
  emptySection: '{ }',
};

type MetricOf<Title extends keyof MetricSet> =
  MetricSet[Title] extends ReadonlyMap<string, infer Metric> ? Metric : never;

/**
 * Yields the union of `sets`; joined, e.g. `{"version":"4.0.0","gauges":{},"counters":{},...}`. Rates are events per
 * second. Each metric is read when its piece is taken, so the numbers of a document may differ in time. Names that are
 * added after their section was begun appear in the next document. Two metrics with one name in one section fail an
 * assertion.
 */
export function* renderMetrics(sets: readonly MetricSet[], { pretty, durationUnit }: RenderOptions): Pieces {
  const blanks = pretty ? PRETTY : COMPACT;
  yield `{${blanks.section}"version"${blanks.colon}"${VERSION}",`;
  yield* renderSection('gauges', sets, gaugeFields, blanks);
  yield ',';
  yield* renderSection('counters', sets, ({ count }) => ({ count: formatJavaInteger(count) }), blanks);
  // Always empty, since durations are in timers; but consumers expect the section.
  yield `,${blanks.section}"histograms"${blanks.colon}${blanks.emptySection},`;
  yield* renderSection('meters', sets, meterFields, blanks);
  yield ',';
  yield* renderSection('timers', sets, (timer) => timerFields(timer, durationUnit), blanks);
  yield `${blanks.documentEnd}}`;
}

function* renderSection<Title extends keyof MetricSet>(
  title: Title,
  sets: readonly MetricSet[],
  fieldsOf: (metric: MetricOf<Title>) => MetricFields,
  blanks: Blanks,
): Pieces {
  const opening = `${blanks.section}"${title}"${blanks.colon}`;
  const sectionOfName = yield* collectNames(sets.map((set) => set[title] as ReadonlyMap<string, MetricOf<Title>>));
  if (sectionOfName.size === 0) {
    yield `${opening}${blanks.emptySection}`;
    return;
  }
  let before = `${opening}{`;
  // By UTF-16 code units, as Java's `String.compareTo` does.
  for (const name of [...sectionOfName.keys()].sort()) {
    const metric = sectionOfName.get(name)?.get(name);
    // Its name gave way while the answer was written.
    if (metric === undefined) continue;
    yield `${before}${blanks.metric}${formatJsonText(name)}${blanks.colon}${formatFields(fieldsOf(metric), blanks)}`;
    before = ',';
  }
  yield `${blanks.section}}`;
}

/**
 * The section of each name. The empty pieces are points where the work can pause; sections may gain and lose names
 * meanwhile.
 */
function* collectNames<Section extends ReadonlyMap<string, unknown>>(
  sections: readonly Section[],
): Generator<'', ReadonlyMap<string, Section>, undefined> {
  const sectionOfName = new Map<string, Section>();
  for (const section of sections) {
    // Only as many names as there are now: a flood of new names must not make the answer endless.
    let left = section.size;
    for (const name of section.keys()) {
      if (left === 0) break;
      const same = sectionOfName.get(name)?.get(name) ?? section.get(name);
      assert(same === section.get(name), `two metrics are called ${name}`);
      sectionOfName.set(name, section);
      left -= 1;
      if (left % STEP_NAMES === 0) yield '';
    }
  }
  return sectionOfName;
}

function formatFields(fields: MetricFields, { metric, field, colon }: Blanks): string {
  const members = Object.entries(fields).map(([key, value]) => `${field}"${key}"${colon}${value}`);
  return `{${members.join(',')}${metric}}`;
}

/** JSON values by key, in order: `{ count: '3' }`. */
type MetricFields = Readonly<Record<string, string>>;

type DurationUnit = 'seconds' | 'milliseconds';

/** Reciprocals, as in the library: dividing would change the last digits (924149 ns is 9.241490000000001E-4 s). */
const UNITS_PER_NS: Readonly<Record<DurationUnit, number>> = {
  seconds: 1 / NS_PER_S,
  milliseconds: 1 / NS_PER_MS,
};

/** `{ value }`, or only `{ error }` if the gauge throws. */
function gaugeFields(gauge: Gauge): MetricFields {
  try {
    const value = gauge.read();
    if (value === null) return { value: 'null' };
    if (typeof value === 'string') return { value: formatJsonText(value) };
    return { value: gauge.type === 'integer' ? formatJavaInteger(value) : formatJavaDouble(value) };
  } catch (cause) {
    // As in Java, where `toString` of an exception gives its class and message.
    return { error: formatJsonText(String(cause)) };
  }
}

function meterFields(meter: MeterReading): MetricFields {
  const rates = meter.snapshot();
  return { count: formatJavaInteger(rates.count), ...rateFields(rates), units: '"events/second"' };
}

const DURATIONS = ['max', 'mean', 'min', 'p50', 'p75', 'p95', 'p98', 'p99', 'p999', 'stddev'] as const;

export function timerFields(timer: TimerReading, unit: DurationUnit): MetricFields {
  const snapshot = timer.snapshot();
  const fields: Record<string, string> = { count: formatJavaInteger(snapshot.count) };
  for (const key of DURATIONS) fields[key] = formatJavaDouble(snapshot[key] * UNITS_PER_NS[unit]);
  return {
    ...fields,
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

/**
 * A double as `Double.toString` of Java writes it, always with a fraction: `21.0`, `1.0E7`, `9.241490000000001E-4`,
 * `-0.0`. JSON has no NaN and no infinities. As in Jackson they become quoted strings: `"NaN"`, `"Infinity"`,
 * `"-Infinity"`.
 *
 * The digits are JavaScript's: the shortest that read back as the same number. JDK 19 and later do the same; earlier
 * ones write a few extreme numbers longer (2.0E23 as 1.9999999999999998E23, 5.0E-324 as 4.9E-324).
 */
export function formatJavaDouble(value: number): string {
  if (!Number.isFinite(value)) return `"${value}"`;
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e7) return Number.isInteger(value) ? `${value}.0` : String(value);
  const text = value.toExponential();
  const end = text.indexOf('e');
  const digits = text.slice(0, end);
  const exponent = text.slice(text.charAt(end + 1) === '+' ? end + 2 : end + 1);
  return `${digits.includes('.') ? digits : `${digits}.0`}E${exponent}`;
}

/** An integer with all its digits. Cuts off a fraction; NaN and infinities become quoted strings. */
export function formatJavaInteger(value: number): string {
  if (!Number.isFinite(value)) return `"${value}"`;
  // From 1e21 on, `String` would write an exponent.
  return Number.isSafeInteger(value) ? String(value) : BigInt(Math.trunc(value)).toString();
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what JSON must escape (RFC 8259 §7).
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/;
const ALL_ESCAPED = new RegExp(ESCAPED, 'g');
const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

/**
 * A quoted JSON string as Jackson writes it to a stream: astral characters as two escapes, upper-case digits in
 * escapes, all other characters from space on unchanged. `JSON.stringify` differs in the first two.
 */
export function formatJsonText(text: string): string {
  return ESCAPED.test(text) ? `"${text.replace(ALL_ESCAPED, escapeUnit)}"` : `"${text}"`;
}

function escapeUnit(unit: string): string {
  return SHORT_ESCAPES[unit] ?? `\\u${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}
