/**
 * Writes metrics as `metrics-json` of Dropwizard Metrics 4 does, byte for byte, since tools read that form. Pure: it knows
 * metrics and text, neither HTTP nor routes. The text comes in pieces of one metric, so that nobody has to wait for all of it.
 */
import assert from 'node:assert/strict';
import type { MetricSet } from '../../metrics/metric-set.ts';
import type { TimerReading } from '../../metrics/timer.ts';
import { toJsonText } from './java-text.ts';
import {
  counterFields,
  type DurationUnit,
  type Fields,
  gaugeFields,
  meterFields,
  timerFields,
} from './metric-fields.ts';
import { metricAt, NameOrder, type Ordered } from './name-order.ts';

/** A constant of the JSON module in all its releases 4.x; not the version of the library, nor ours. */
const VERSION = '4.0.0';

export interface RenderOptions {
  /** Indented by two blanks, else without any blank. */
  readonly pretty: boolean;
  readonly durationUnit: DurationUnit;
}

/** The blanks of one of the two forms. */
interface Blanks {
  /** Before each name, by depth: a section, a metric, a field. */
  readonly section: string;
  readonly metric: string;
  readonly field: string;
  /** Between a name and its value. */
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

/** What `section` of the renderer needs of its document. */
interface Form {
  readonly blanks: Blanks;
  readonly leads: FieldLeads;
}

/** Remembers the order of names from one answer to the next; so there should be one of it. */
export class MetricsRenderer {
  readonly #order = new NameOrder();

  /**
   * The union of `sets` in pieces; joined, e.g. `{"version":"4.0.0","gauges":{},"counters":{},...}`. Rates are in events for each
   * second. Each metric is read when its piece is taken, so numbers of one document may be some time apart. What gets a name after
   * its section was begun is left to the next document. Two metrics with one name in one section fail an assertion.
   */
  *render(sets: readonly MetricSet[], { pretty, durationUnit }: RenderOptions): Pieces {
    const blanks = pretty ? PRETTY : COMPACT;
    const form = { blanks, leads: new FieldLeads(blanks) };
    const toTimerFields = (timer: TimerReading) => timerFields(timer, durationUnit);
    yield `{${blanks.section}"version"${blanks.colon}"${VERSION}",`;
    yield* this.#section('gauges', sets, gaugeFields, form);
    yield ',';
    yield* this.#section('counters', sets, counterFields, form);
    // We have none: what Dropwizard users keep in histograms are durations here. But consumers expect the section.
    yield `,${blanks.section}"histograms"${blanks.colon}${blanks.emptySection},`;
    yield* this.#section('meters', sets, meterFields, form);
    yield ',';
    yield* this.#section('timers', sets, toTimerFields, form);
    yield `${blanks.documentEnd}}`;
  }

  *#section<Title extends keyof MetricSet>(
    title: Title,
    sets: readonly MetricSet[],
    toFields: (metric: MetricOf<Title>) => Fields,
    { blanks, leads }: Form,
  ): Pieces {
    const opening = `${blanks.section}"${title}"${blanks.colon}`;
    const parts: Part<MetricOf<Title>>[] = [];
    for (const set of sets) {
      const section = set[title] as ReadonlyMap<string, MetricOf<Title>>;
      if (section.size > 0) parts.push({ section, ordered: yield* this.#order.sorted(section), at: 0 });
    }
    if (parts.length === 0) {
      yield `${opening}${blanks.emptySection}`;
      return;
    }
    let before = `${opening}{`;
    for (let name = leastOf(parts); name !== undefined; name = leastOf(parts)) {
      const metric = takenFrom(parts, name);
      yield `${before}${blanks.metric}${toJsonText(name)}${blanks.colon}${leads.textOf(toFields(metric))}`;
      before = ',';
    }
    yield `${blanks.section}}`;
  }
}

/** What stands before each value, e.g. `,"max":`, by the list of keys: the same for thousands of metrics. */
class FieldLeads {
  readonly #blanks: Blanks;
  readonly #leads = new Map<readonly string[], readonly string[]>();

  constructor(blanks: Blanks) {
    this.#blanks = blanks;
  }

  textOf({ keys, values }: Fields): string {
    let leads = this.#leads.get(keys);
    if (leads === undefined) {
      const { field, colon } = this.#blanks;
      leads = keys.map((key, i) => `${i === 0 ? '{' : ','}${field}"${key}"${colon}`);
      this.#leads.set(keys, leads);
    }
    let text = '';
    for (let i = 0; i < leads.length; i += 1) text += `${leads[i]}${values[i]}`;
    return `${text}${this.#blanks.metric}}`;
  }
}

/** A section of one of the sets, and how far it has been written. */
interface Part<Metric> {
  readonly section: ReadonlyMap<string, Metric>;
  readonly ordered: Ordered<Metric>;
  at: number;
}

/** The next name of all; undefined when there is none left. */
function leastOf(parts: readonly Part<unknown>[]): string | undefined {
  let least: string | undefined;
  for (const { ordered, at } of parts) {
    const name = ordered.names[at];
    if (name !== undefined && (least === undefined || name < least)) least = name;
  }
  return least;
}

/** The metric called `name`, which is the next of one part, or of several that share it. */
function takenFrom<Metric>(parts: readonly Part<Metric>[], name: string): Metric {
  let taken: Metric | undefined;
  for (const part of parts) {
    if (part.ordered.names[part.at] !== name) continue;
    const metric = metricAt(part.ordered, part.at, part.section);
    part.at += 1;
    assert(taken === undefined || taken === metric, `two metrics are called ${name}`);
    taken = metric;
  }
  return taken as Metric;
}
