/**
 * Writes metrics as `metrics-json` of Dropwizard Metrics 4 does, byte for byte, since tools read that form. Pure: it knows
 * metrics and text, neither HTTP nor routes.
 */
import type { MetricSet } from '../../metrics/metric-set.ts';
import { toJsonText } from './java-text.ts';
import {
  counterFields,
  type DurationUnit,
  type Fields,
  gaugeFields,
  meterFields,
  timerFields,
} from './metric-fields.ts';
import { sortedNames } from './sorted-names.ts';
import { Turns } from './turns.ts';

/** A constant of the JSON module in all its releases 4.x; not the version of the library, nor ours. */
const VERSION = '4.0.0';
const CHUNK_CHARS = 16 * 1024;

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

/**
 * The document in pieces of about 16 KB; joined, e.g. `{"version":"4.0.0","gauges":{},"counters":{},...}`. Rates are in events
 * for each second. Each metric is read when its turn comes, and the event loop gets one at least every few milliseconds, so
 * numbers of one document may be that far apart.
 */
export async function* renderMetrics(set: MetricSet, options: RenderOptions): AsyncGenerator<string, void, undefined> {
  const blanks = options.pretty ? PRETTY : COMPACT;
  const turns = new Turns();
  yield `{${blanks.section}"version"${blanks.colon}"${VERSION}",`;
  yield* renderSection('gauges', set.gauges, gaugeFields, { blanks, turns });
  yield ',';
  yield* renderSection('counters', set.counters, counterFields, { blanks, turns });
  // We have none: what Dropwizard users keep in histograms are durations here. But consumers expect the section.
  yield `,${blanks.section}"histograms"${blanks.colon}${blanks.emptySection},`;
  yield* renderSection('meters', set.meters, meterFields, { blanks, turns });
  yield ',';
  yield* renderSection('timers', set.timers, (timer) => timerFields(timer, options.durationUnit), { blanks, turns });
  yield `${blanks.documentEnd}}`;
}

async function* renderSection<Metric>(
  title: string,
  metrics: ReadonlyMap<string, Metric>,
  toFields: (metric: Metric) => Fields,
  { blanks, turns }: { blanks: Blanks; turns: Turns },
): AsyncGenerator<string, void, undefined> {
  const opening = `${blanks.section}"${title}"${blanks.colon}`;
  if (metrics.size === 0) {
    yield `${opening}${blanks.emptySection}`;
    return;
  }
  let chunk = `${opening}{`;
  let separator = '';
  for (const name of await sortedNames(metrics.keys(), turns)) {
    if (turns.due) await turns.rest();
    const fields = toFields(metrics.get(name) as Metric);
    chunk += `${separator}${blanks.metric}${toJsonText(name)}${blanks.colon}${renderFields(fields, blanks)}`;
    separator = ',';
    if (chunk.length < CHUNK_CHARS) continue;
    yield chunk;
    chunk = '';
  }
  yield `${chunk}${blanks.section}}`;
}

function renderFields(fields: Fields, blanks: Blanks): string {
  let text = '{';
  let separator = '';
  for (const [key, json] of fields) {
    text += `${separator}${blanks.field}"${key}"${blanks.colon}${json}`;
    separator = ',';
  }
  return `${text}${blanks.metric}}`;
}
