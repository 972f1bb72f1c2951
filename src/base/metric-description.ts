/**
 * Describes a metric next to the code that counts it: its name, type, help and labels, and how to read its values. The
 * composition root collects the descriptions of all rooms (sidecar/metrics.ts); `/metrics`, OTLP, the report and the
 * list in docs/prometheus.md are generated from them.
 */

/** `info` is a gauge of 1 that carries its information in labels; Prometheus' text format has no such type. */
export type FamilyType = 'counter' | 'gauge' | 'histogram' | 'summary' | 'info';

export interface Family {
  /** The name in queries: counters end in `_total`, infos in `_info`; e.g. `d2_calls_total`. */
  readonly name: string;
  readonly type: FamilyType;
  /** One sentence without quotes, backslashes and line ends, so that it needs no escaping. */
  readonly help: string;
  /** Their values are closed sets or bounded names; never a user, a session, an address or a path. */
  readonly labels: readonly string[];
  /** Of a histogram: its upper bounds, unless `metrics.prometheus.buckets` replaces them. */
  readonly bounds?: readonly number[];
}

/** Count, and sum in seconds, of a summary without quantiles; unknown values are absent. */
export interface Summary {
  readonly count?: number | undefined;
  readonly sum?: number | undefined;
}

/** Bucket `offset + i` has `counts[i]` durations, above base^(offset+i) seconds with base = 2^(2^-scale). */
export interface ExponentialReading {
  readonly scale: number;
  readonly zeroCount: number;
  readonly offset: number;
  readonly counts: readonly number[];
}

export interface Exemplar {
  /** Lower-case hexadecimal, 32 and 16 characters. */
  readonly traceId: string;
  readonly spanId: string;
  readonly atEpochMs: number;
}

export type ExemplarReading = Exemplar & { readonly seconds: number };

export interface DurationBucketsReading {
  readonly bounds: readonly number[];
  readonly sumSeconds: number;
  /** The number of durations up to each bound, then of all; e.g. `[0, 3, 4]` for two bounds. */
  cumulative(): number[];
  /** The same durations in other buckets; absent unless requested. */
  readonly exponential?: ExponentialReading | undefined;
  /** Traces of calls, by the index of their bucket in `cumulative`. */
  readonly exemplars?: ReadonlyMap<number, ExemplarReading> | undefined;
}

export type MetricValue = number | Summary | DurationBucketsReading;

/** By the values of a label, e.g. `{ rpc: 3, sba: 4 }`; entries may also come from a map or a generator. */
type Labelled = { readonly [label: string]: MetricValues } | Iterable<readonly [label: string, value: MetricValues]>;

/** One value, or values by the first label, by the second label, and so on. `undefined` is omitted. */
export type MetricValues = MetricValue | undefined | Labelled;

export interface MetricDescription<Source> extends Family {
  /** Must return as many levels as there are `labels`. The compiler does not check it: `/metrics` fails otherwise. */
  readonly read: (source: Source) => MetricValues;
}

/** `read`: the name of a member suffices. */
type Describe = <Source>(
  name: string,
  help: string,
  read: KeyFor<Source> | MetricDescription<Source>['read'],
  ...labels: string[]
) => MetricDescription<Source>;

type KeyFor<Source> = { [Key in keyof Source]: Source[Key] extends MetricValues ? Key : never }[keyof Source];

export const counter = describe('counter');
export const gauge = describe('gauge');
export const summary = describe('summary');
export const info = describe('info');

/** `bounds`: in seconds. */
export function histogram(bounds: readonly number[]): Describe {
  return (...parts) => ({ ...describe('histogram')(...parts), bounds });
}

function describe(type: FamilyType): Describe {
  return (name, help, read, ...labels) => ({
    ...{ name, type, help, labels },
    read: typeof read === 'function' ? read : (source) => source[read] as MetricValues,
  });
}

export interface Sample {
  /** In the order of the family's labels. For Prometheus an empty label is the same as none. */
  readonly labels: readonly string[];
  readonly value: MetricValue;
}

/** A family and its samples. Each sample is read when it is written. A family without samples is omitted. */
export type Table = Family & { samples(): Iterable<Sample> };

/** Without a source the table is empty. */
export function createTable<Source>({ read, ...family }: MetricDescription<Source>, source: Source | undefined): Table {
  return {
    ...family,
    samples: () => readSamples(source === undefined ? undefined : read(source), family.labels.length),
  };
}

/** One loop instead of a generator for each label: a document may have 100,000 samples. */
function* readSamples(values: MetricValues, depth: number): Generator<Sample, void, undefined> {
  if (values === undefined) return;
  if (depth === 0) {
    yield { labels: [], value: values as MetricValue };
    return;
  }
  const labels: string[] = [];
  const levels = [entriesOf(values)];
  for (let level = levels[0]; level !== undefined; level = levels.at(-1)) {
    const next = level.next();
    if (next.done === true) {
      levels.pop();
      continue;
    }
    const [label, value] = next.value;
    labels[levels.length - 1] = label;
    if (value === undefined) continue;
    if (levels.length < depth) levels.push(entriesOf(value));
    else yield { labels: labels.slice(), value: value as MetricValue };
  }
}

function entriesOf(values: MetricValues): Iterator<readonly [label: string, value: MetricValues]> {
  const byLabel = values as Labelled;
  return (Symbol.iterator in byLabel ? byLabel : Object.entries(byLabel))[Symbol.iterator]();
}

/** Parts of the program by name, e.g. the listeners; undefined where one is not configured. */
export type Parts<Part> = Readonly<Record<string, Part | undefined>>;

export function ofEach<Part>(read: (part: Part) => MetricValues): (parts: Parts<Part>) => MetricValues {
  return (parts) => Object.entries(parts).map(([name, part]) => [name, part && read(part)] as const);
}

/** Values of a large map, each read when it is written. */
export function* readEach<Value>(
  map: ReadonlyMap<string, Value>,
  read: (value: Value) => MetricValues,
): Generator<readonly [label: string, value: MetricValues]> {
  for (const [label, value] of eachOnce(map)) yield [label, read(value)];
}

/**
 * The entries of a large map that gains and loses names meanwhile, each name once, and no more than the map has now:
 * under a flood of names a plain loop would have no end.
 */
export function* eachOnce<Value>(map: ReadonlyMap<string, Value>): Generator<readonly [name: string, value: Value]> {
  const { size } = map;
  const seen = new Set<string>();
  for (const entry of map) {
    if (seen.size === size) return;
    if (seen.has(entry[0])) continue;
    seen.add(entry[0]);
    yield entry;
  }
}
