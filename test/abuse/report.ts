/** The table that a run prints at its end. */
import { renderTable } from '../bench/load/report.ts';
import type { Flood } from './floods/flood.ts';
import { CALM, FLOOD } from './phases.ts';
import type { FloodResult } from './run/flood-result.ts';
import { callsOf, failedOf, missedBounds } from './run/verdict.ts';

export interface Row {
  readonly flood: Flood;
  /** An error if the run itself failed. */
  readonly result: FloodResult | Error;
}

export function isGood({ flood, result }: Row): boolean {
  return !(result instanceof Error) && missedBounds(flood, result).length === 0;
}

const TITLES = [
  'flood',
  'connections',
  'sent',
  'p50, ms',
  'worst, ms',
  'upstream alone, ms',
  'core lost, ms',
  'failed',
  'memory, MB',
  'after, MB',
  'over after, s',
  'values',
  'verdict',
];

export function renderReport(rows: readonly Row[], limit: string): string {
  const missed = rows.filter((row) => !isGood(row));
  const end =
    missed.length === 0 ? 'good: every bound held' : `BAD: ${missed.length} of ${rows.length} floods missed a bound`;
  return [
    `Memory of the sidecar: ${limit}. p50 and worst are those of the other users' calls, in calm and in the flood; "upstream alone"`,
    'is their worst call past the sidecar. Memory is resident: in calm and at its peak. Values: received by two Comet users, counted.',
    '',
    renderTable(TITLES, rows.flatMap(toRows)),
    '',
    ...rows.flatMap(toNotes),
    end,
    '',
  ].join('\n');
}

/** Reasons, below the table. */
function toNotes({ flood, result }: Row): string[] {
  const texts =
    result instanceof Error
      ? [result.stack ?? result.message]
      : [...(result.lastWords === undefined ? [] : [`ended: ${result.lastWords}`]), ...new Set(result.users.failures)];
  return texts.map((text) => `${flood.name}: ${text}`);
}

function toRows(row: Row): string[][] {
  const { flood, result } = row;
  if (result instanceof Error) return [[flood.name, ...TITLES.slice(2).map(() => ''), 'BAD: not measured']];
  const { cost, startBytes, peakBytes, afterBytes, overAfterMs, countedValues, users } = result;
  const [p50, worst, failed] = toCells(result, 'calls');
  const main = [
    flood.name,
    String(cost.connections),
    toSize(cost.bytes),
    p50,
    worst,
    toMs(callsOf(result, 'upstream', FLOOD).worstMs),
    toMs(result.lostMs),
    failed,
    `${toMegabytes(startBytes)} → ${toMegabytes(peakBytes)}`,
    afterBytes === undefined ? 'ended' : toMegabytes(afterBytes),
    overAfterMs === undefined ? '–' : (overAfterMs / 1_000).toFixed(1),
    countedValues === users.values ? `${users.values}` : `${users.values} ≠ ${countedValues ?? '?'}`,
    toVerdict(row),
  ].map((cell) => cell ?? '');
  if (flood.setting !== 'monitor') return [main];
  const [monitorP50 = '', monitorWorst = '', monitorFailed = ''] = toCells(result, 'monitor');
  return [main, ['… its honest reader', '', '', monitorP50, monitorWorst, '', '', monitorFailed]];
}

function toCells(result: FloodResult, kind: string): string[] {
  const calm = callsOf(result, kind, CALM);
  const during = callsOf(result, kind, FLOOD);
  const failed = failedOf(result, kind);
  return [
    `${toMs(calm.p50Ms)} → ${toMs(during.p50Ms)}`,
    `${toMs(calm.worstMs)} → ${toMs(during.worstMs)}`,
    `${failed}`,
  ];
}

export function toVerdict({ flood, result }: Row): string {
  if (result instanceof Error) return `BAD: not measured: ${result.message}`;
  const missed = missedBounds(flood, result);
  return missed.length === 0 ? 'good' : `BAD: ${missed.join(', ')}`.replaceAll('|', '/');
}

function toMegabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}

function toSize(bytes: number): string {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function toMs(ms: number): string {
  return ms.toFixed(ms < 10 ? 1 : 0);
}
