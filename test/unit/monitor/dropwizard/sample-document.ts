import type { MeterSnapshot } from '../../../../src/metrics/meter.ts';
import type { Gauge, MetricSet } from '../../../../src/metrics/metric-set.ts';
import type { TimerSnapshot } from '../../../../src/metrics/timer.ts';

/** Numbers of a sample; NaN and infinities are texts there. */
type Numbers = Readonly<Record<string, number | string>>;

interface Parsed {
  readonly gauges: Record<string, { value?: unknown; error?: string }>;
  readonly counters: Record<string, { count: number }>;
  readonly meters: Record<string, Numbers>;
  readonly timers: Record<string, Numbers>;
}

const DURATIONS = ['max', 'mean', 'min', 'p50', 'p75', 'p95', 'p98', 'p99', 'p999', 'stddev'] as const;
const NS_PER_UNIT: Readonly<Record<string, number>> = { seconds: 1e9, milliseconds: 1e6 };

/** Metrics that read what stands in a document of the real library, to be written again. */
export function metricsOfSample(text: string): MetricSet {
  const parsed = JSON.parse(text) as Parsed;
  return {
    gauges: mapped(parsed.gauges, (gauge, name) => toGauge(gauge, lexemeOf(text, name))),
    counters: mapped(parsed.counters, ({ count }) => ({ count })),
    meters: mapped(parsed.meters, (numbers) => {
      const rates = toRates(numbers);
      return { count: rates.count, snapshot: () => rates };
    }),
    timers: mapped(parsed.timers, (numbers) => {
      const snapshot = toTimer(numbers);
      return { count: snapshot.count, snapshot: () => snapshot };
    }),
  };
}

/** The sample without what the sidecar has not: other versions, histograms, and gauges of these names. */
export function reduced(text: string, isPretty: boolean, withoutGauges: readonly string[] = []): string {
  const cut = withoutGauges.reduce((rest, name) => withoutGauge(rest, name, isPretty), text);
  return isPretty
    ? cut
        .replace('"version" : "3.1.3"', '"version" : "4.0.0"')
        .replace(/"histograms" : \{[\s\S]*?\n {2}\},\n {2}"meters"/, '"histograms" : { },\n  "meters"')
    : cut
        .replace('"version":"3.1.3"', '"version":"4.0.0"')
        .replace(/"histograms":\{.*?\},"meters"/, '"histograms":{},"meters"');
}

function withoutGauge(text: string, name: string, isPretty: boolean): string {
  const [begin, end] = isPretty ? [`    "${name}" : {\n`, '\n    },\n'] : [`"${name}":{`, '},"'];
  const from = text.indexOf(begin);
  const to = text.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`the sample has no ${name}`);
  return text.slice(0, from) + text.slice(to + end.length - (isPretty ? 0 : 1));
}

function mapped<From, To>(entries: Record<string, From>, toMetric: (from: From, name: string) => To): Map<string, To> {
  // Backwards, so that it is the renderer that brings them into order.
  return new Map(
    Object.entries(entries)
      .reverse()
      .map(([name, from]) => [name, toMetric(from, name)]),
  );
}

/** How the sample writes a gauge's number: only there an integer and a double differ. */
function lexemeOf(text: string, name: string): string {
  const at = text.indexOf(`${JSON.stringify(name)}`);
  return /"value" ?: ?([^\s},]+)/.exec(text.slice(at))?.[1] ?? '';
}

function toGauge({ value, error }: { value?: unknown; error?: string }, lexeme: string): Gauge {
  const read = (): number | string | null => {
    if (error !== undefined) throw javaException(error);
    return value === 'NaN' || value === 'Infinity' || value === '-Infinity'
      ? Number(value)
      : (value as number | string | null);
  };
  return { type: /^-?\d+$/.test(lexeme) ? 'integer' : 'double', read };
}

/** An error whose text is that of a Java exception, e.g. `java.lang.IllegalStateException: away`. */
function javaException(text: string): Error {
  const [name = '', ...message] = text.split(': ');
  const error = new Error(message.join(': '));
  error.name = name;
  return error;
}

function toRates(numbers: Numbers): MeterSnapshot {
  const at = (key: string): number => Number(numbers[key]);
  return { count: at('count'), m1: at('m1_rate'), m5: at('m5_rate'), m15: at('m15_rate'), mean: at('mean_rate') };
}

function toTimer(numbers: Numbers): TimerSnapshot {
  const nsPerUnit = NS_PER_UNIT[String(numbers.duration_units)] ?? Number.NaN;
  const at = (key: string): number => toNs(Number(numbers[key]), nsPerUnit);
  const rates = toRates(numbers);
  const durations = Object.fromEntries(DURATIONS.map((key) => [key, at(key)]));
  return { count: rates.count, rates, ...(durations as Record<(typeof DURATIONS)[number], number>) };
}

/** Nanoseconds that the library's multiplication turns into `value`: a whole number if there is one, else the nearest double. */
function toNs(value: number, nsPerUnit: number): number {
  const about = value * nsPerUnit;
  const candidates = [Math.round(about)];
  for (let step = -4; step <= 4; step += 1) candidates.push(about + step * about * Number.EPSILON);
  const found = candidates.find((ns) => ns * (1 / nsPerUnit) === value);
  if (found === undefined) throw new Error(`no duration is written as ${value}`);
  return found;
}
