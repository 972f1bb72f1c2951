/** `/live`: what the live page shows at its top, and the last hour, in pieces. The form is told in docs/live-page.md. */
import type { Role } from '../access/reader.ts';
import type { CallsPoint } from '../history/application-history.ts';
import { STEP_SECONDS } from '../history/columns.ts';
import type { HistoryPoint } from '../history/history.ts';
import type { Monitored, MonitoredApplication, MonitoredJvm, MonitoredNumbers, MonitoredSidecar } from './monitored.ts';
import type { MonitoredLive } from './monitored-live.ts';

export interface LiveQuestion {
  readonly role: Role;
  /** Only steps later than this one. */
  readonly since: number;
  /** What percentiles in the tables describe. */
  readonly windowMs: number;
}

const MS_PER_S = 1_000;

export function* renderLive(
  { applications, sidecar, jvm }: Monitored,
  live: MonitoredLive,
  { role, since, windowMs }: LiveQuestion,
): Generator<string, void, undefined> {
  const numbers = sidecar.own.read();
  const { history } = live;
  const head = {
    version: sidecar.version,
    now: toIso(live.clock.epochMs()),
    startTime: toIso(history.startedEpochMs),
    role,
    ...toState(sidecar),
    upstream: toUpstream(sidecar),
    jvm: toJvm(jvm),
    limits: toLimits(sidecar, numbers, applications),
    failures: Array.from(sidecar.reporter.failures.counts, ([code, count]) => ({ code, count })).filter(isCounted),
    connections: { open: sidecar.dispatcher.openConnections, refused: sidecar.dispatcher.refusedConnections },
    gatewayShare: toGatewayShare(numbers),
    observerErrors: sidecar.reporter.observerErrors,
    windowSeconds: windowMs / MS_PER_S,
    seq: history.seq,
    marks: history.marks.map(({ epochMs, kind, text }) => ({ t: epochMs / MS_PER_S, kind, text })),
    droppedMarks: history.droppedMarks,
  };
  yield `${JSON.stringify(head).slice(0, -1)},"applications":[`;
  let before = '';
  for (const application of applications) {
    yield before;
    yield* renderApplication(application, numbers, live, since);
    before = ',';
  }
  yield ']}';
}

function* renderApplication(
  { name, sessions }: MonitoredApplication,
  { comet }: MonitoredNumbers,
  { history }: MonitoredLive,
  since: number,
): Generator<string, void, undefined> {
  const head = {
    name,
    sessions: { ...sessions.countsByType(), created: sessions.created.count },
    holds: { now: comet.holds.now },
  };
  yield `${JSON.stringify(head).slice(0, -1)},"history":{"stepSeconds":${STEP_SECONDS},"points":[`;
  let before = '';
  for (const point of history.points(name, since)) {
    yield before + toPointText(point);
    before = ',';
  }
  yield ']}}';
}

function toPointText(point: HistoryPoint): string {
  const { seq, epochMs, seconds, rpc, sba, values, aborted, unanswered, sessions, holds, ...jvm } = point;
  return JSON.stringify({
    ...{ seq, t: epochMs / MS_PER_S, seconds: toShort(seconds), rpc: toCalls(rpc), sba: toCalls(sba) },
    ...{ values, aborted, unanswered, sessions, holds },
    ...{ heapUsed: jvm.heapUsed, heapAfterGc: jvm.heapAfterGc, gcPauseMs: jvm.gcPauseMs },
  });
}

function toCalls({ count, errors, p50, p95, p99 }: CallsPoint): readonly (number | null)[] {
  return [count, errors, toShort(p50), toShort(p99), toShort(p95)];
}

const DIGITS = 4;

/** More digits would be more than is known. */
export function toShort(value: number): number;
export function toShort(value: number | null): number | null;
export function toShort(value: number | null): number | null {
  return value === null ? null : Number(value.toPrecision(DIGITS));
}

function toState({ lifecycle }: MonitoredSidecar): object {
  const { state, leftMs } = lifecycle;
  return { state, stopLeftSeconds: leftMs === undefined ? null : Math.round(leftMs / 100) / 10 };
}

function toUpstream({ upstream }: MonitoredSidecar): object {
  const { reachability } = upstream;
  return {
    state: reachability.kind,
    since: reachability.kind === 'unknown' ? null : toIso(reachability.sinceEpochMs),
    reason: reachability.kind === 'unreachable' ? reachability.reason : null,
  };
}

function toJvm({ state, reads }: MonitoredJvm): object {
  // Nothing is counted where no source is configured.
  if (state.kind === 'unavailable' && reads === undefined) {
    return { state: 'none', source: null, since: null, reason: state.reason };
  }
  return {
    state: state.kind,
    source: state.kind === 'available' ? state.source : null,
    since: toIso(state.sinceEpochMs),
    reason: state.kind === 'available' ? null : state.reason,
  };
}

/** Those that have been reached, by the key that sets them. */
function toLimits(
  { limits }: MonitoredSidecar,
  numbers: MonitoredNumbers,
  applications: readonly MonitoredApplication[],
): readonly object[] {
  const folded = (kind: 'rpc' | 'sba' | 'object') =>
    applications.reduce((sum, { statistics }) => sum + statistics[kind].foldedCount, 0);
  const hits = [
    ...limits.counts,
    ['sessions.max', numbers.sessionsUntracked],
    ['metrics.maxNames.rpc', folded('rpc')],
    ['metrics.maxNames.sba', folded('sba')],
    ['metrics.maxNames.object', folded('object')],
  ] as const;
  return hits.filter(([, count]) => count > 0).map(([key, count]) => ({ key, hits: count }));
}

function isCounted({ count }: { readonly count: number }): boolean {
  return count > 0;
}

/** 0 to 1, of all exchanges that have ended. */
function toGatewayShare({ exchanges }: MonitoredNumbers): number {
  const sumOf = (counts: Readonly<Record<string, number>> = {}) => Object.values(counts).reduce((sum, n) => sum + n, 0);
  const gateway = sumOf(exchanges.gateway);
  const all = Object.values(exchanges).reduce((sum, counts) => sum + sumOf(counts), 0);
  return all === 0 ? 0 : toShort(gateway / all);
}

function toIso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
