/**
 * Writes tables of samples as Prometheus text 0.0.4 or as OpenMetrics 1.0. Pure: it knows text, and must not know HTTP
 * or the meaning of the numbers. https://prometheus.io/docs/instrumenting/exposition_formats/,
 * https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md
 */
import assert from 'node:assert/strict';
import { MS_PER_S } from '../../base/clock.ts';
import type {
  DurationBucketsReading,
  ExemplarReading,
  Family,
  Sample,
  Summary,
  Table,
} from '../../base/metric-description.ts';

export type ExpositionFormat = 'text' | 'openmetrics';

/** Simple samples per piece: a pause after each of 28,000 samples cost up to a tenth of the answer's time. */
const NUMBERS_IN_PIECE = 8;

/**
 * The document in pieces of a few numbers or one histogram. Each sample is read when its piece is taken, so the numbers
 * of a document may differ in time. A histogram and its buckets are read at the same moment.
 */
export function* renderTables(tables: Iterable<Table>, format: ExpositionFormat): Generator<string, void, undefined> {
  for (const table of tables) {
    const leads = createLeads(table);
    let piece = headOf(table, format);
    let samples = 0;
    for (const sample of table.samples()) {
      piece += textOf(leads, sample, format);
      samples += 1;
      if (typeof sample.value === 'number' && samples < NUMBERS_IN_PIECE) continue;
      yield piece;
      piece = '';
      samples = 0;
    }
    if (samples > 0) yield piece;
  }
  if (format === 'openmetrics') yield '# EOF\n';
}

function headOf({ name, type, help }: Family, format: ExpositionFormat): string {
  if (format === 'text') return `# HELP ${name} ${help}\n# TYPE ${name} ${type === 'info' ? 'gauge' : type}\n`;
  // In OpenMetrics these endings belong to the samples, not to the family.
  const family = name.replace(type === 'counter' ? /_total$/ : type === 'info' ? /_info$/ : /$^/, '');
  return `# HELP ${family} ${help}\n# TYPE ${family} ${type}\n`;
}

/**
 * The text around the label values of a family, e.g. `d2_calls_total{application="`, `",kind="`, `"} `. It is the same
 * for thousands of samples. Without it, each would be joined from twice as many parts.
 */
interface Leads {
  readonly plain: readonly string[];
  readonly sum: readonly string[];
  readonly count: readonly string[];
  /** Ends with `le="`. */
  readonly bucket: readonly string[];
}

function createLeads({ name, labels }: Family): Leads {
  return {
    plain: leadsOf(name, labels),
    sum: leadsOf(`${name}_sum`, labels),
    count: leadsOf(`${name}_count`, labels),
    bucket: leadsOf(`${name}_bucket`, [...labels, 'le']).slice(0, -1),
  };
}

function leadsOf(name: string, labels: readonly string[]): readonly string[] {
  if (labels.length === 0) return [`${name} `];
  return [...labels.map((label, i) => `${i === 0 ? `${name}{` : '",'}${label}="`), '"} '];
}

/** Joins `leads` with the label values between them; a missing value is empty. */
function labelled(leads: readonly string[], values: readonly string[]): string {
  let text = leads[0] as string;
  for (let i = 1; i < leads.length; i += 1) text += escapeLabelValue(values[i - 1] ?? '') + (leads[i] as string);
  return text;
}

function textOf(leads: Leads, { labels, value }: Sample, format: ExpositionFormat): string {
  if (typeof value === 'number') return `${labelled(leads.plain, labels)}${formatSampleValue(value)}\n`;
  if ('cumulative' in value) return histogramText(leads, labels, value, format === 'openmetrics');
  // Otherwise it has further levels: `read` of the description gives more of them than the family has labels.
  assert('count' in value || 'sum' in value, `more levels than labels: ${leads.plain.join('')}`);
  return summaryText(leads, labels, value);
}

function histogramText(
  leads: Leads,
  labels: readonly string[],
  value: DurationBucketsReading,
  hasExemplars: boolean,
): string {
  const exemplars = hasExemplars ? value.exemplars : undefined;
  const counts = value.cumulative();
  const bounds = formatBounds(value.bounds);
  const first = labelled(leads.bucket, labels);
  const next = `\n${first}`;
  let text = '';
  for (let i = 0; i < counts.length; i += 1) {
    text += `${i === 0 ? first : next}${bounds[i]}${counts[i]}`;
    if (exemplars !== undefined) text += exemplarText(exemplars.get(i));
  }
  return `${text}\n${summaryText(leads, labels, { sum: value.sumSeconds, count: counts.at(-1) })}`;
}

/** Only OpenMetrics has exemplars. */
function exemplarText(exemplar: ExemplarReading | undefined): string {
  if (exemplar === undefined) return '';
  const { traceId, spanId, seconds, atEpochMs } = exemplar;
  return ` # {trace_id="${traceId}",span_id="${spanId}"} ${seconds} ${atEpochMs / MS_PER_S}`;
}

function summaryText(leads: Leads, labels: readonly string[], { count, sum }: Summary): string {
  const sumText = sum === undefined ? '' : `${labelled(leads.sum, labels)}${formatSampleValue(sum)}\n`;
  return count === undefined ? sumText : `${sumText}${labelled(leads.count, labels)}${formatSampleValue(count)}\n`;
}

export function formatSampleValue(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}

/** The text after `le="` for each bound and for `+Inf`, e.g. `0.25"} `; cached by the array of bounds. */
const boundTexts = new WeakMap<readonly number[], readonly string[]>();

function formatBounds(bounds: readonly number[]): readonly string[] {
  let texts = boundTexts.get(bounds);
  if (texts === undefined) {
    texts = [...bounds.map(formatBound), '+Inf'].map((bound) => `${bound}"} `);
    boundTexts.set(bounds, texts);
  }
  return texts;
}

/** `1.0` for 1, as OpenMetrics requires. Both formats write it, or a series would have two names. */
function formatBound(seconds: number): string {
  return Number.isInteger(seconds) ? `${seconds}.0` : String(seconds);
}

const ESCAPED = /[\\"\n\ud800-\udfff]/;
const ALL_ESCAPED = /[\\"\n]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' };

/**
 * Escapes a label value. A lone surrogate has no UTF-8 and would become the same replacement character for all. It is
 * written as an escape, so that different names stay different.
 */
export function escapeLabelValue(text: string): string {
  return ESCAPED.test(text) ? text.replace(ALL_ESCAPED, escapeUnit) : text;
}

function escapeUnit(unit: string): string {
  return ESCAPES[unit] ?? `\\\\u${unit.charCodeAt(0).toString(16)}`;
}
