/**
 * Writes tables of samples as Prometheus text 0.0.4 or as OpenMetrics 1.0. Pure: it knows text, neither HTTP nor what the
 * numbers are about. https://prometheus.io/docs/instrumenting/exposition_formats/,
 * https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md
 */
import type { DurationBucketsReading } from '../../metrics/duration-buckets.ts';
import type { Family, Sample, Summary, Table } from './table.ts';

export type ExpositionFormat = 'text' | 'openmetrics';

/**
 * The document in pieces of one sample. Each sample is read when its piece is taken, so numbers of one document may be some time
 * apart, but those of one sample (a histogram with its buckets) are of one moment.
 */
export function* renderTables(tables: Iterable<Table>, format: ExpositionFormat): Generator<string, void, undefined> {
  for (const table of tables) {
    let head = headOf(table, format);
    for (const sample of table.samples()) {
      yield head + textOf(table, sample);
      head = '';
    }
  }
  if (format === 'openmetrics') yield '# EOF\n';
}

function headOf({ name, type, help }: Family, format: ExpositionFormat): string {
  if (format === 'text') return `# HELP ${name} ${help}\n# TYPE ${name} ${type === 'info' ? 'gauge' : type}\n`;
  // There, these endings belong to the samples, not to the family.
  const family = name.replace(type === 'counter' ? /_total$/ : type === 'info' ? /_info$/ : /$^/, '');
  return `# HELP ${family} ${help}\n# TYPE ${family} ${type}\n`;
}

function textOf({ name, labels }: Family, { labels: values, value }: Sample): string {
  let pairs = '';
  for (let i = 0; i < labels.length; i += 1) {
    pairs += `${i === 0 ? '' : ','}${labels[i]}="${toLabelValue(values[i] ?? '')}"`;
  }
  const of = pairs === '' ? '' : `{${pairs}}`;
  if (typeof value === 'number') return `${name}${of} ${toNumber(value)}\n`;
  if ('cumulative' in value) return histogramText(name, pairs, of, value);
  return summaryText(name, of, value);
}

function histogramText(name: string, pairs: string, of: string, value: DurationBucketsReading): string {
  const counts = value.cumulative();
  const { bounds, sumSeconds } = value;
  const prefix = `${name}_bucket{${pairs}${pairs === '' ? '' : ','}le="`;
  let text = '';
  for (let i = 0; i < bounds.length; i += 1) text += `${prefix}${toBound(bounds[i] as number)}"} ${counts[i]}\n`;
  const count = counts.at(-1);
  return `${text}${prefix}+Inf"} ${count}\n${name}_sum${of} ${toNumber(sumSeconds)}\n${name}_count${of} ${count}\n`;
}

function summaryText(name: string, of: string, { count, sum }: Summary): string {
  const sumText = sum === undefined ? '' : `${name}_sum${of} ${toNumber(sum)}\n`;
  return count === undefined ? sumText : `${sumText}${name}_count${of} ${toNumber(count)}\n`;
}

export function toNumber(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}

/** `1.0` for 1: OpenMetrics asks for it, and with `1` in the other format, a series would have two names. */
function toBound(seconds: number): string {
  return Number.isInteger(seconds) ? `${seconds}.0` : String(seconds);
}

const ESCAPED = /[\\"\n\ud800-\udfff]/;
const ALL_ESCAPED = /[\\"\n]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' };

/**
 * A label's value between its quotes. Half a surrogate pair has no UTF-8, and would become the same character for all: it is
 * written out, so that different names stay different.
 */
export function toLabelValue(text: string): string {
  return ESCAPED.test(text) ? text.replace(ALL_ESCAPED, toEscape) : text;
}

function toEscape(unit: string): string {
  return ESCAPES[unit] ?? `\\\\u${unit.charCodeAt(0).toString(16)}`;
}
