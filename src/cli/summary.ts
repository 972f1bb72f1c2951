/** `d2-sidecar summary`: the last days as a text that fits a mail, from the history of a running sidecar. */
import {
  type Compared,
  MIN_CALLS,
  type Summary,
  type SummaryOfApplication,
  type TargetOfMonth,
} from '../archive/compare.ts';
import { MS_PER_S } from '../base/clock.ts';
import { formatCount, formatDuration, formatShare } from '../base/figures.ts';
import { askSidecar } from './ask-sidecar.ts';
import type { Run } from './command-line.ts';
import { requestSummary } from './control/control-client.ts';

const BYTES_PER_MB = 1_000_000;

export const summary: Run<'summary'> = async ({ flags, sinceMs }, env, output) => {
  const found = await askSidecar(flags, env, output, (socket) => requestSummary(socket, sinceMs / MS_PER_S));
  output.out(`${[...formatSummary(found)].join('\n')}\n`);
  return 0;
};

export function* formatSummary({ from, to, applications, marks, targets = [], failure }: Summary): Generator<string> {
  yield `${formatTime(from)} to ${formatTime(to)} UTC; in parentheses: as much time before`;
  if (failure !== undefined) yield `\n${failure} What has happened since is missing here.`;
  for (const application of applications) yield* formatApplication(application);
  if (targets.length > 0) yield '\nTargets, of the calls of this month (UTC)';
  for (const target of targets) yield `  ${formatTarget(target)}`;
  const outages = marks.filter(({ kind }) => kind === 'upstreamLost');
  yield `\nOutages of the application server: ${outages.length}`;
  yield* outages.slice(-20).map(formatMark);
  const gaps = marks.filter(({ kind }) => kind === 'history');
  if (gaps.length > 0) yield '\nTimes without a history';
  yield* gaps.slice(-20).map(formatMark);
  const lengths = new Map<string, number>();
  for (const { kind, text, epochMs, endEpochMs = to * MS_PER_S } of marks)
    if (kind === 'verdict') lengths.set(text, (lengths.get(text) ?? 0) + endEpochMs - epochMs);
  if (lengths.size > 0) yield '\nVerdicts by time';
  for (const [text, ms] of [...lengths].sort(([, one], [, other]) => other - one))
    yield `  ${formatLength(ms).padEnd(7)} ${text}`;
}

function formatMark({ epochMs, endEpochMs, text }: Summary['marks'][number]): string {
  const length = endEpochMs === undefined ? 'lasts' : formatLength(endEpochMs - epochMs);
  return `  ${formatTime(epochMs / MS_PER_S)}  ${length.padEnd(7)} ${text}`;
}

function* formatApplication({ name, rpc, sba, slowest, totals }: SummaryOfApplication): Generator<string> {
  yield `\n/${name}`;
  for (const [kind, { now, before }] of Object.entries({ RPC: rpc, SBA: sba })) {
    if (now.count + before.count === 0) continue;
    const counts = `${now.count} calls (${before.count}), ${now.errors} errors (${before.errors})`;
    yield `  ${kind}: ${counts}, p95 ${formatP95({ now, before })}`;
  }
  const { sessions, heapUsed, gcPauseMs, seconds } = totals;
  yield `  Sessions at most: ${sessions ?? 0}; measured for ${formatLength((seconds ?? 0) * MS_PER_S)}`;
  if (heapUsed !== null) {
    const heap = `heap at most ${Math.round(heapUsed / BYTES_PER_MB)} MB`;
    yield `  JVM: ${heap}, collectors paused it for ${gcPauseMs === null ? 'an unknown time' : formatLength(gcPauseMs)}`;
  }
  if (slowest.length > 0) yield `  Slowest by p95, of ${MIN_CALLS} calls or more`;
  for (const one of slowest) yield `    ${one.name.padEnd(40)} ${formatP95(one)}, ${one.now.count} calls`;
}

function formatTarget({ application, name, withinMs, share, month: { met, missed }, allowanceUsed }: TargetOfMonth) {
  const calls = met + missed;
  const ofCalls = calls === 0 ? 'no calls' : `${formatShare(met / calls)} of ${formatCount(calls)} calls`;
  const used = allowanceUsed === null ? 'none may miss it' : `${formatShare(allowanceUsed)} of the allowance used`;
  const wanted = `within ${formatDuration(withinMs / MS_PER_S)}: ${ofCalls}, ${formatShare(share)} wanted`;
  return `/${application} ${name} ${wanted}, ${used}`;
}

function formatP95({ now, before }: Compared): string {
  const format = ({ p95 }: Compared['now']) => (p95 === null ? '-' : `${Number((p95 * MS_PER_S).toPrecision(3))} ms`);
  return `${format(now)} (${format(before)})`;
}

function formatTime(seconds: number): string {
  return new Date(seconds * MS_PER_S).toISOString().slice(0, 16).replace('T', ' ');
}

/** In the largest unit of which there are two, e.g. `90 min`. */
function formatLength(ms: number): string {
  const units = { d: 86_400_000, h: 3_600_000, min: 60_000, s: MS_PER_S };
  const [unit, length] = Object.entries(units).find(([, each]) => ms >= 2 * each) ?? ['s', MS_PER_S];
  return `${Math.round(ms / length)} ${unit}`;
}
