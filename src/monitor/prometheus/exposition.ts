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
} from '../../base/metric-description.ts';
import type { Pieces } from '../json-pieces.ts';
import type { SlicedTable } from './fewer-series.ts';

export type ExpositionFormat = 'text' | 'openmetrics';

/**
 * The document in pieces of one sample. Each sample is read when its piece is taken, so the numbers of a document may
 * differ in time. A histogram and its buckets are read at the same moment.
 */
export function* renderTables(tables: Iterable<SlicedTable>, format: ExpositionFormat): Pieces {
  for (const table of tables) {
    let head = headOf(table, format);
    for (const sample of table.samples()) {
      if (sample === undefined) {
        yield '';
        continue;
      }
      yield head + formatSample(table, sample, format);
      head = '';
    }
  }
  if (format === 'openmetrics') yield '# EOF\n';
}

function headOf({ name, type, help }: Family, format: ExpositionFormat): string {
  if (format === 'text') return `# HELP ${name} ${help}\n# TYPE ${name} ${type === 'info' ? 'gauge' : type}\n`;
  // In OpenMetrics these endings belong to the samples, not to the family.
  const family = name.replace(type === 'counter' ? /_total$/ : type === 'info' ? /_info$/ : /$^/, '');
  return `# HELP ${family} ${help}\n# TYPE ${family} ${type}\n`;
}

function formatSample({ name, labels }: Family, { labels: values, value }: Sample, format: ExpositionFormat): string {
  // A loop instead of arrays: a document may have 100,000 samples.
  let pairs = '';
  for (let i = 0; i < labels.length; i += 1)
    pairs += `${i === 0 ? '' : ','}${labels[i]}="${escapeLabelValue(values[i] ?? '')}"`;
  if (typeof value === 'number') return formatLine(name, pairs, value);
  if ('cumulative' in value) return formatHistogram(name, pairs, value, format);
  // Otherwise it has further levels: `read` of the description gives more of them than the family has labels.
  assert('count' in value || 'sum' in value, `more levels than labels: ${name}{${pairs}}`);
  return formatSummary(name, pairs, value);
}

/** E.g. `d2_calls_total{application="smartWeb",kind="rpc"} 41`. */
function formatLine(name: string, pairs: string, value: number): string {
  return `${name}${pairs === '' ? '' : `{${pairs}}`} ${formatSampleValue(value)}\n`;
}

function formatHistogram(
  name: string,
  pairs: string,
  durations: DurationBucketsReading,
  format: ExpositionFormat,
): string {
  const { bounds, exemplars, sumSeconds } = durations;
  const counts = durations.cumulative();
  const start = `${name}_bucket{${pairs === '' ? '' : `${pairs},`}le="`;
  let lines = '';
  for (let i = 0; i < counts.length; i += 1) {
    const exemplar = format === 'openmetrics' ? formatExemplar(exemplars?.get(i)) : '';
    lines += `${start}${formatBound(bounds[i])}"} ${counts[i]}${exemplar}\n`;
  }
  return lines + formatSummary(name, pairs, { sum: sumSeconds, count: counts.at(-1) });
}

/** Only OpenMetrics has exemplars. */
function formatExemplar(exemplar: ExemplarReading | undefined): string {
  if (exemplar === undefined) return '';
  const { traceId, spanId, seconds, atEpochMs } = exemplar;
  return ` # {trace_id="${traceId}",span_id="${spanId}"} ${seconds} ${atEpochMs / MS_PER_S}`;
}

function formatSummary(name: string, pairs: string, { count, sum }: Summary): string {
  const sumLine = sum === undefined ? '' : formatLine(`${name}_sum`, pairs, sum);
  return count === undefined ? sumLine : sumLine + formatLine(`${name}_count`, pairs, count);
}

export function formatSampleValue(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}

/** `1.0` for 1, as OpenMetrics requires. Both formats write it, or a series would have two names. */
function formatBound(seconds = Number.POSITIVE_INFINITY): string {
  return Number.isInteger(seconds) ? `${seconds}.0` : formatSampleValue(seconds);
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
