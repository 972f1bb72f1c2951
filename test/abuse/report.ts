import { renderTable } from '../bench/load/report.ts';
import type { Flood } from './floods/flood.ts';
import { CALM, FLOOD } from './plant.ts';
import type { FloodResult } from './run/abuse-run.ts';
import { callsOf, failedOf, missedBounds } from './run/verdict.ts';

export interface Row {
  readonly flood: Flood;
  readonly result: FloodResult | Error;
}

export function isGood(row: Row): boolean {
  return reasonsOf(row).length === 0;
}

const MEASURED = ['connections', 'sent', 'p50, ms', 'worst, ms', 'relay, ms', 'slowness', 'core lost, ms', 'failed'];
const TITLES = ['flood', ...MEASURED, 'memory, MB', 'after, MB', 'over after, s', 'values', 'verdict'];

export function renderReport(rows: readonly Row[], limit: string): string {
  const missed = rows.filter((row) => !isGood(row));
  // On one line, the last: CI keeps only the end of the output.
  const reasons = missed.map((row) => `${row.flood.name}: ${reasonsOf(row).join(', ')}`).join('; ');
  const end =
    missed.length === 0
      ? 'good: every bound held'
      : `BAD: ${missed.length} of ${rows.length} floods missed a bound: ${reasons}`;
  return [
    `Memory of the sidecar: ${limit}. p50 and worst are those of the other users' calls, in calm and in the flood; "relay" is`,
    'their worst call through a plain relay on the same core, "slowness" the machine\'s to that of the bounds. Memory is resident: in calm and at its peak. Values: received by two Comet users, counted.',
    '',
    renderTable(TITLES, rows.flatMap(toRows)),
    '',
    ...rows.flatMap(toNotes),
    end,
    '',
  ].join('\n');
}

function toNotes({ flood, result }: Row): string[] {
  if (result instanceof Error) return [`${flood.name}: ${result.stack ?? result.message}`];
  const ended = result.lastWords === undefined ? [] : [`ended: ${result.lastWords.slice(0, 300)}`];
  return [...ended, ...new Set(result.users.failures)].map((text) => `${flood.name}: ${text}`);
}

function toRows(row: Row): string[][] {
  const { flood, result } = row;
  if (result instanceof Error) return [[flood.name, ...TITLES.slice(2).map(() => ''), 'BAD: not measured']];
  const { cost, startBytes, peakBytes, afterBytes, overAfterMs, countedValues, users } = result;
  const cells = [
    ...[flood.name, String(cost.connections), `${(cost.bytes / 1e6).toFixed(1)} MB`],
    ...toLatencies(result, 'calls'),
    ...[toMs(callsOf(result, 'relayed', FLOOD).worstMs), result.slowness.toFixed(1), toMs(result.lostMs)],
    `${failedOf(result, 'calls')}`,
    `${toMegabytes(startBytes)} → ${toMegabytes(peakBytes)}`,
    afterBytes === undefined ? 'ended' : toMegabytes(afterBytes),
    overAfterMs === undefined ? '–' : (overAfterMs / 1_000).toFixed(1),
    countedValues === users.values ? `${users.values}` : `${users.values} ≠ ${countedValues ?? '?'}`,
    isGood(row) ? 'good' : 'BAD',
  ];
  if (flood.setting !== 'monitor') return [cells];
  const reader = [...toLatencies(result, 'monitor'), '', '', '', `${failedOf(result, 'monitor')}`];
  return [cells, ['… its honest reader', '', '', ...reader]];
}

function toLatencies(result: FloodResult, kind: string): string[] {
  const [calm, during] = [callsOf(result, kind, CALM), callsOf(result, kind, FLOOD)];
  return [
    `${toMs(calm.p50Ms)} → ${toMs(result.isShort ? during.steadyMs : during.p50Ms)}`,
    `${toMs(calm.worstMs)} → ${toMs(during.worstMs)}`,
  ];
}

export function reasonsOf({ flood, result }: Row): string[] {
  return result instanceof Error ? [`not measured: ${result.message}`] : missedBounds(flood, result);
}

function toMegabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}

function toMs(ms: number): string {
  return ms.toFixed(ms < 10 ? 1 : 0);
}
