/**
 * Writes metrics as `metrics-json` of Dropwizard Metrics 4 does, byte for byte, since tools read that form. Pure: it
 * knows metrics and text, and must not know HTTP or routes. It yields one metric at a time, so that the text can be
 * written in slices.
 */
import assert from 'node:assert/strict';
import type { MetricSet } from '../../metrics/metric-set.ts';
import { formatJsonText } from './java-text.ts';
import {
  counterFields,
  type DurationUnit,
  gaugeFields,
  type MetricFields,
  meterFields,
  timerFields,
} from './metric-fields.ts';

/** A constant of Dropwizard's JSON module in all releases 4.x; neither the library's version nor ours. */
const VERSION = '4.0.0';

/** Names that are read in one step. */
const STEP_NAMES = 500;

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
  yield* renderSection('counters', sets, counterFields, blanks);
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
