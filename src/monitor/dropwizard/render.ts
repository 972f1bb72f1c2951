/**
 * Writes metrics as `metrics-json` of Dropwizard Metrics 4 does, byte for byte, since tools read that form. Pure: it
 * knows metrics and text, and must not know HTTP or routes. It yields one metric at a time, so that the text can be
 * written in slices.
 */
import assert from 'node:assert/strict';
import type { MetricSet } from '../../metrics/metric-set.ts';
import type { TimerReading } from '../../metrics/timer.ts';
import { formatJsonText } from './java-text.ts';
import {
  counterFields,
  type DurationUnit,
  gaugeFields,
  type MetricFields,
  meterFields,
  timerFields,
} from './metric-fields.ts';
import { NameOrder } from './name-order.ts';

/** A constant of Dropwizard's JSON module in all releases 4.x; neither the library's version nor ours. */
const VERSION = '4.0.0';

export interface RenderOptions {
  /** True: indented by two blanks. False: no blanks. */
  readonly pretty: boolean;
  readonly durationUnit: DurationUnit;
}

/** The whitespace of the compact or the indented form. */
interface Blanks {
  /** Before each name, by depth: section, metric, field. */
  readonly section: string;
  readonly metric: string;
  readonly field: string;
  readonly colon: string;
  readonly documentEnd: string;
  readonly emptySection: string;
}

const COMPACT: Blanks = { section: '', metric: '', field: '', colon: ':', documentEnd: '', emptySection: '{}' };
const PRETTY: Blanks = {
  section: '\n  ',
  metric: '\n    ',
  field: '\n      ',
  colon: ' : ',
  documentEnd: '\n',
  emptySection: '{ }',
};

type Pieces = Generator<string, void, undefined>;
type MetricOf<Title extends keyof MetricSet> =
  MetricSet[Title] extends ReadonlyMap<string, infer Metric> ? Metric : never;

/** Caches the order of names across answers, so one instance should serve all of them. */
export class MetricsRenderer {
  readonly #order = new NameOrder();

  /**
   * Yields the union of `sets`; joined, e.g. `{"version":"4.0.0","gauges":{},"counters":{},...}`. Rates are events per
   * second. Each metric is read when its piece is taken, so the numbers of a document may differ in time. Names that
   * are added after their section was begun appear in the next document. Two metrics with one name in one section fail
   * an assertion.
   */
  *render(sets: readonly MetricSet[], { pretty, durationUnit }: RenderOptions): Pieces {
    const blanks = pretty ? PRETTY : COMPACT;
    const ofTimer = (timer: TimerReading) => timerFields(timer, durationUnit);
    yield `{${blanks.section}"version"${blanks.colon}"${VERSION}",`;
    yield* this.#section('gauges', sets, gaugeFields, blanks);
    yield ',';
    yield* this.#section('counters', sets, counterFields, blanks);
    // Always empty, since durations are in timers; but consumers expect the section.
    yield `,${blanks.section}"histograms"${blanks.colon}${blanks.emptySection},`;
    yield* this.#section('meters', sets, meterFields, blanks);
    yield ',';
    yield* this.#section('timers', sets, ofTimer, blanks);
    yield `${blanks.documentEnd}}`;
  }

  *#section<Title extends keyof MetricSet>(
    title: Title,
    sets: readonly MetricSet[],
    fieldsOf: (metric: MetricOf<Title>) => MetricFields,
    blanks: Blanks,
  ): Pieces {
    const opening = `${blanks.section}"${title}"${blanks.colon}`;
    const cursors: Cursor<MetricOf<Title>>[] = [];
    for (const set of sets) {
      const section = set[title] as ReadonlyMap<string, MetricOf<Title>>;
      if (section.size > 0) cursors.push({ section, names: yield* this.#order.sorted(section), at: 0 });
    }
    if (cursors.length === 0) {
      yield `${opening}${blanks.emptySection}`;
      return;
    }
    let before = `${opening}{`;
    for (let name = nextName(cursors); name !== undefined; name = nextName(cursors)) {
      const metric = takeNext(cursors, name);
      // Its name gave way while the answer was written.
      if (metric === undefined) continue;
      yield `${before}${blanks.metric}${formatJsonText(name)}${blanks.colon}${formatFields(fieldsOf(metric), blanks)}`;
      before = ',';
    }
    yield `${blanks.section}}`;
  }
}

function formatFields({ keys, values }: MetricFields, { metric, field, colon }: Blanks): string {
  let text = '{';
  for (let i = 0; i < keys.length; i += 1) text += `${i === 0 ? '' : ','}${field}"${keys[i]}"${colon}${values[i]}`;
  return `${text}${metric}}`;
}

/** The cursor of one set in a section: `at` is the index of its next name. */
interface Cursor<Metric> {
  readonly section: ReadonlyMap<string, Metric>;
  readonly names: readonly string[];
  at: number;
}

/** The first of the next names in sort order; undefined at the end. */
function nextName(cursors: readonly Cursor<unknown>[]): string | undefined {
  let least: string | undefined;
  for (const { names, at } of cursors) {
    const name = names[at];
    if (name !== undefined && (least === undefined || name < least)) least = name;
  }
  return least;
}

/** Takes the metric called `name`, which is next in one set, or in several that share it. Undefined once it is gone. */
function takeNext<Metric>(cursors: readonly Cursor<Metric>[], name: string): Metric | undefined {
  let taken: Metric | undefined;
  for (const cursor of cursors) {
    if (cursor.names[cursor.at] !== name) continue;
    const metric = cursor.section.get(name);
    cursor.at += 1;
    assert(taken === undefined || taken === metric, `two metrics are called ${name}`);
    taken = metric;
  }
  return taken;
}
