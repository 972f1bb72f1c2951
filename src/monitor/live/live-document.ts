/** Renders `/live` in pieces: the top of the live page, and the last hour. docs/live-page.md describes the form. */

import { MS_PER_S } from '../../base/clock.ts';
import { createServerGauges } from '../../jvm/gauges.ts';
import type { MemoryUsage } from '../../jvm/jvm-source.ts';
import type { HistoryPoint } from '../../measure/history/application-history.ts';
import { type RecentCount, STEP_SECONDS } from '../../measure/history/steps.ts';
import { allowanceUsedOf, type CountedTarget } from '../../measure/record/call-targets.ts';
import { type Verdict, withConfirmedNames } from '../../measure/verdict/verdicts.ts';
import type { HistoryPoint as PagePoint, StepCalls, Target } from '../../page/live-data.ts';
import { daysLeft, describeValidity } from '../../tls/own-certificate.ts';
import { describeTlsFault } from '../../tls/tls-fault.ts';
import type { Role } from '../access/reader.ts';
import { jsonArray, jsonWithMember } from '../json-pieces.ts';
import type { Monitored, MonitoredApplication, MonitoredJvm, MonitoredLive, MonitoredSidecar } from '../monitored.ts';
import { FAILURE, LIMIT, OBSERVER_ERRORS, OUTSIDE, REFUSED } from './live-counters.ts';

export interface LiveRequest {
  readonly role: Role;
  /** Only steps after this one. */
  readonly since: number;
}

export function* renderLive(
  { applications, sidecar, jvm, verdicts }: Monitored,
  live: MonitoredLive,
  { role, since }: LiveRequest,
): Generator<string, void, undefined> {
  const { history } = live;
  const recent = history.recentCounts();
  const head = {
    version: sidecar.version,
    now: formatIso(live.clock.epochMs()),
    startTime: formatIso(history.startedEpochMs),
    role,
    ...selectState(sidecar),
    upstream: selectUpstream(sidecar),
    certificates: selectCertificates(live),
    jvm: selectJvm(jvm),
    server: selectServer(jvm, live),
    clientTimeoutSeconds: live.clientTimeoutMs() / MS_PER_S,
    limits: keyed(recent, LIMIT).map(([key, count]) => ({ key, ...count })),
    failures: keyed(recent, FAILURE).map(([code, count]) => ({ code, ...count })),
    refusedConnections: countOf(recent, REFUSED),
    observerErrors: countOf(recent, OBSERVER_ERRORS),
    outside: selectOutside(live, countOf(recent, OUTSIDE), role),
    seq: history.seq,
    archive: live.archiveState === undefined ? null : { failure: live.archiveState.failure ?? null },
    alerts: live.alerts?.state ?? null,
    marks: history.marks.map(({ epochMs, kind, text, endEpochMs }) => ({
      ...{ t: epochMs / MS_PER_S, kind, text },
      end: endEpochMs && endEpochMs / MS_PER_S,
    })),
  };
  const sources = { verdicts, live, heldPolls: sidecar.own.comet.holds.now, since, role };
  yield* jsonWithMember(
    head,
    'applications',
    jsonArray(applications.map((application) => renderApplication(application, sources))),
  );
}

interface ApplicationSources extends LiveRequest, Pick<Monitored, 'verdicts'> {
  readonly live: MonitoredLive;
  readonly heldPolls: number;
}

function* renderApplication(
  { name, sessions }: MonitoredApplication,
  { verdicts, live, heldPolls, since, role }: ApplicationSources,
): Generator<string, void, undefined> {
  const verdict = verdicts.of(name);
  const head = {
    name,
    sessions: { ...sessions.countsByType(), created: sessions.created.count },
    heldPolls,
    // The rules are too long for each poll; a reader who opens them gets them from d2/verdict.
    verdict: { ...selectVerdict(verdict, role), kind: verdict.kind, rules: undefined },
    minute: verdicts.minuteOf(name),
    targets: verdicts.targetsOf(name).map(selectTarget),
  };
  const history = jsonWithMember({ stepSeconds: STEP_SECONDS }, 'points', jsonArray(pointTexts(live, name, since)));
  yield* jsonWithMember(head, 'history', history);
}

function selectTarget(target: CountedTarget): Target {
  const { name, kind, withinMs, share, met, missed, month } = target;
  return {
    ...{ name, kind, within: withinMs / MS_PER_S, share, minute: { met, missed }, month },
    allowanceUsed: allowanceUsedOf(target),
    hour: target.hour.map(({ met, missed }) => (met + missed === 0 ? null : roundTo4Digits(met / (met + missed)))),
  };
}

function* pointTexts({ history }: MonitoredLive, application: string, since: number): Generator<string> {
  for (const point of history.points(application, since)) yield JSON.stringify(selectPoint(point));
}

/** The answer of `d2/verdict`, and its part of `/live`. */
export function selectVerdict(verdict: Verdict, role: Role): object {
  const { subject, code, name, text, sinceEpochMs, rules } =
    role === 'sessions' ? verdict : withConfirmedNames(verdict);
  return { subject, code, name, text, since: formatIso(sinceEpochMs), rules };
}

function selectPoint({ epochMs, holds: _, ...point }: HistoryPoint): PagePoint {
  const t = epochMs / MS_PER_S;
  const [rpc, sba] = [roundCalls(point.rpc), roundCalls(point.sba)];
  const { ended, durationS, clientWaitS } = point.times;
  const times = { ended, durationS: roundTo4Digits(durationS), clientWaitS: roundTo4Digits(clientWaitS) };
  return { ...point, t, seconds: roundTo4Digits(point.seconds), rpc, sba, times, cores: roundOrNull(point.cores) };
}

function roundCalls({ p50, p95, p99, ...counts }: StepCalls): StepCalls {
  return { ...counts, p50: roundOrNull(p50), p95: roundOrNull(p95), p99: roundOrNull(p99) };
}

/** More digits than the precision of percentiles. */
export function roundTo4Digits(value: number): number {
  return Number(value.toPrecision(4));
}

export function roundOrNull(value: number | null): number | null {
  return value === null ? null : roundTo4Digits(value);
}

function selectState({ lifecycle }: MonitoredSidecar): object {
  const { state, leftMs } = lifecycle;
  return { state, stopLeftSeconds: leftMs === undefined ? null : Math.round(leftMs / 100) / 10 };
}

function selectUpstream({ upstream }: MonitoredSidecar): object {
  const { reachability } = upstream;
  const since = reachability.kind === 'unknown' ? null : formatIso(reachability.sinceEpochMs);
  if (reachability.kind !== 'unreachable') return { state: reachability.kind, since, reason: null, tlsFault: null };
  const { kind: state, reason, isTls } = reachability;
  return { state, since, reason, tlsFault: isTls ? describeTlsFault(reason).text : null };
}

function selectCertificates({ certificates, clock }: MonitoredLive): readonly object[] {
  const nowEpochMs = clock.epochMs();
  return certificates().map((certificate) => ({
    section: certificate.section,
    expires: formatIso(certificate.notAfterEpochMs),
    days: daysLeft(certificate.notAfterEpochMs, nowEpochMs),
    warning: describeValidity(certificate, nowEpochMs) ?? null,
  }));
}

function selectJvm({ state, reads }: MonitoredJvm): object {
  // `reads` is undefined if no source is configured.
  if (state.kind === 'unavailable' && reads === undefined) {
    return { state: 'none', source: null, since: null, reason: state.reason, heapMax: null };
  }
  return {
    state: state.kind,
    source: state.kind === 'available' ? state.source : null,
    since: formatIso(state.sinceEpochMs),
    reason: state.kind === 'available' ? null : state.reason,
    heapMax: state.kind === 'available' ? readHeapMax(state.reading.heap) : null,
  };
}

/** The server's capacity: the gauges of `metrics/server`, and more. Unknown values are absent. */
function selectServer({ state }: MonitoredJvm, live: MonitoredLive): object {
  const { deadlockedThreads: threads = 0, atEpochMs = 0, fileName: file } = live.diagnosed() ?? {};
  const deadlock = threads === 0 ? undefined : { threads, at: formatIso(atEpochMs), file };
  if (state.kind === 'unavailable') return { deadlock };
  const gauges = Array.from(createServerGauges(state.server).gauges, ([name, gauge]) => [
    name.slice('server.'.length),
    gauge.read(),
  ]);
  return { ...Object.fromEntries(gauges), processors: state.server.process.processors, deadlock };
}

/** In bytes; null if the JVM has no limit (-1), or if its source does not report one. */
function readHeapMax({ max = -1 }: MemoryUsage): number | null {
  return max > 0 ? max : null;
}

type Recent = ReadonlyMap<string, RecentCount>;

/** Counters with `prefix` that have risen since the start, by key without the prefix. */
function keyed(recent: Recent, prefix: string): (readonly [string, RecentCount])[] {
  return Array.from(recent, ([key, count]) => [key, count] as const)
    .filter(([key, { sinceStart }]) => key.startsWith(prefix) && sinceStart > 0)
    .map(([key, count]) => [key.slice(prefix.length), count]);
}

function countOf(recent: Recent, key: string): RecentCount {
  return recent.get(key) ?? { sinceStart: 0, inMinute: 0 };
}

/**
 * Any client can send a path, and its segments may name a person. So they need the role `sessions`, as user names do.
 */
function selectOutside({ unclassified }: MonitoredLive, count: RecentCount, role: Role): object {
  if (role !== 'sessions') return { ...count, segments: null, other: null };
  const { segments, other } = unclassified.readOutside();
  return { ...count, segments: segments.map(([segment, requests]) => ({ segment, requests })), other };
}

function formatIso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

const MAX_RUNNING = 200;
const MAX_SLOWEST = 100;

/** One line of JSON with its line feed. */
export function renderTop(monitored: Required<Monitored>): string {
  const calls = {
    calls: monitored.applications.map(({ name, running, slowest }) => ({
      ...{ name, total: running.size, running: running.oldest(MAX_RUNNING) },
      slowest: slowest.slowest().slice(0, MAX_SLOWEST),
    })),
  };
  const page = renderLive(monitored, monitored.live, { role: 'sessions', since: 0 });
  return `${[...jsonWithMember(calls, 'live', page)].join('')}\n`;
}
