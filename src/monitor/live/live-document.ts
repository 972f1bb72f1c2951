/**
 * Renders `/live` in pieces: the top of the live page, and the last hour. docs/live-page.md describes the form. Times of
 * the axis are epoch seconds, durations seconds.
 */
import { formatIso, MS_PER_S } from '../../base/clock.ts';
import { createServerGauges } from '../../jvm/gauges.ts';
import { SILENCE_LIMITS } from '../../limits/limit-hits.ts';
import type { CallsPoint, HistoryPoint } from '../../measure/history/application-history.ts';
import { type RecentCount, STEP_SECONDS } from '../../measure/history/steps.ts';
import { allowanceUsedOf, type CountedTarget } from '../../measure/record/call-targets.ts';
import type { UnclassifiedRequests } from '../../measure/record/unclassified-requests.ts';
import { type Verdict, withConfirmedNames } from '../../measure/verdict/verdicts.ts';
import { daysLeft, describeValidity } from '../../tls/own-certificate.ts';
import { describeTlsFault } from '../../tls/tls-fault.ts';
import type { Role } from '../access/reader.ts';
import { jsonArray, jsonWithMember, type Pieces } from '../json-pieces.ts';
import type { Monitored, MonitoredApplication, MonitoredJvm, MonitoredLive, MonitoredSidecar } from '../monitored.ts';

interface LiveRequest {
  readonly role: Role;
  /** Only steps after this one. */
  readonly since: number;
}

export type Live = ReturnType<typeof selectHead> & { readonly applications: readonly LiveApplication[] };

export type LiveApplication = ReturnType<typeof selectApplication> & {
  readonly history: { readonly stepSeconds: number; readonly points: readonly ReturnType<typeof selectPoint>[] };
};

export function* renderLive(monitored: Monitored, request: LiveRequest): Pieces {
  const applications = monitored.applications.map((one) => renderApplication(one, monitored, request));
  yield* jsonWithMember(selectHead(monitored, request.role), 'applications', jsonArray(applications));
}

function selectHead({ sidecar, jvm, live }: Monitored, role: Role) {
  const { history } = live;
  const { state, leftMs } = sidecar.lifecycle;
  const recent = history.recentCounts();
  return {
    version: sidecar.version,
    now: formatIso(live.clock.epochMs()),
    /** When this process began measuring. */
    startTime: formatIso(history.startedEpochMs),
    /** The reader's: `metrics` gets no user names, addresses or session ids. */
    role,
    state,
    stopLeftSeconds: leftMs === undefined ? null : Math.round(leftMs / 100) / 10,
    upstream: selectUpstream(sidecar),
    certificates: selectCertificates(live),
    jvm: selectJvm(jvm),
    server: selectServer(jvm, live),
    /** 0: clients wait forever. */
    clientTimeoutSeconds: live.clientTimeoutMs() / MS_PER_S,
    limits: keyed(recent, LIMIT).map(([key, count]) => ({ key, ...count })),
    failures: keyed(recent, FAILURE).map(([code, count]) => ({ code, ...count })),
    refusedConnections: countOf(recent, REFUSED),
    observerErrors: countOf(recent, OBSERVER_ERRORS),
    outside: selectOutside(live, countOf(recent, OUTSIDE), role),
    /** The newest step of this process. */
    seq: history.seq,
    /** Null without `history.file`. `failure`: why it cannot be written now. */
    archive: live.archiveState === undefined ? null : { failure: live.archiveState.failure ?? null },
    alerts: live.alerts?.state ?? null,
    marks: history.marks.map(({ epochMs, kind, text, endEpochMs }) => ({
      ...{ t: epochMs / MS_PER_S, kind, text },
      ...(endEpochMs === undefined ? {} : { end: endEpochMs / MS_PER_S }),
    })),
  };
}

function* renderApplication(application: MonitoredApplication, monitored: Monitored, request: LiveRequest): Pieces {
  const points = jsonArray(pointTexts(monitored.live, application.name, request.since));
  const history = jsonWithMember({ stepSeconds: STEP_SECONDS }, 'points', points);
  yield* jsonWithMember(selectApplication(application, monitored, request.role), 'history', history);
}

function selectApplication({ name, sessions }: MonitoredApplication, { verdicts, sidecar }: Monitored, role: Role) {
  const verdict = verdicts.of(name);
  // The rules are too long for each poll; a reader who opens them gets them from d2/verdict.
  const { rules: _, ...judged } = selectVerdict(verdict, role);
  return {
    name,
    sessions: { ...sessions.countsByType(), created: sessions.created.count },
    /** Comet polls that the server holds, of all applications. */
    heldPolls: sidecar.own.comet.holds.now,
    verdict: { ...judged, kind: verdict.kind },
    minute: verdicts.minuteOf(name),
    targets: verdicts.targetsOf(name).map(selectTarget),
  };
}

function selectTarget(target: CountedTarget) {
  const { name, kind, withinMs, share, met, missed, month } = target;
  return {
    ...{ name, kind, within: withinMs / MS_PER_S, share, minute: { met, missed }, month },
    allowanceUsed: allowanceUsedOf(target),
    /** Share that met it in each minute of the last hour; null without a call. */
    hour: target.hour.map(({ met, missed }) => (met + missed === 0 ? null : roundTo4Digits(met / (met + missed)))),
  };
}

function* pointTexts({ history }: MonitoredLive, application: string, since: number): Generator<string> {
  for (const point of history.points(application, since)) yield JSON.stringify(selectPoint(point));
}

/** The answer of `d2/verdict`, and its part of `/live`. */
export function selectVerdict(verdict: Verdict, role: Role) {
  const { subject, code, name, text, sinceEpochMs, rules } =
    role === 'sessions' ? verdict : withConfirmedNames(verdict);
  return { subject, code, name, text, since: formatIso(sinceEpochMs), rules };
}

function selectPoint({ epochMs, holds: _, ...point }: HistoryPoint) {
  const t = epochMs / MS_PER_S;
  const [rpc, sba] = [roundCalls(point.rpc), roundCalls(point.sba)];
  const { ended, durationS, clientWaitS } = point.times;
  const times = { ended, durationS: roundTo4Digits(durationS), clientWaitS: roundTo4Digits(clientWaitS) };
  return { ...point, t, seconds: roundTo4Digits(point.seconds), rpc, sba, times, cores: roundOrNull(point.cores) };
}

function roundCalls({ p50, p95, p99, ...counts }: CallsPoint): CallsPoint {
  return { ...counts, p50: roundOrNull(p50), p95: roundOrNull(p95), p99: roundOrNull(p99) };
}

/** More digits than the precision of percentiles. */
export function roundTo4Digits(value: number): number {
  return Number(value.toPrecision(4));
}

export function roundOrNull(value: number | null): number | null {
  return value === null ? null : roundTo4Digits(value);
}

function selectUpstream({ upstream: { reachability } }: MonitoredSidecar) {
  const lost = reachability.kind === 'unreachable' ? reachability : undefined;
  return {
    state: reachability.kind,
    since: reachability.kind === 'unknown' ? null : formatIso(reachability.sinceEpochMs),
    reason: lost?.reason ?? null,
    /** Connections open, but TLS fails: why. */
    tlsFault: lost?.isTls ? describeTlsFault(lost.reason).text : null,
  };
}

function selectCertificates({ certificates, clock }: MonitoredLive) {
  const nowEpochMs = clock.epochMs();
  return certificates().map((certificate) => ({
    section: certificate.section,
    expires: formatIso(certificate.notAfterEpochMs),
    days: daysLeft(certificate.notAfterEpochMs, nowEpochMs),
    warning: describeValidity(certificate, nowEpochMs) ?? null,
  }));
}

function selectJvm({ state, reads }: MonitoredJvm) {
  const read = state.kind === 'available' ? state : undefined;
  // `reads` is undefined if no source is configured.
  const isNone = read === undefined && reads === undefined;
  // -1 if the JVM has no limit; undefined if its source does not report one.
  const { max = -1 } = read?.reading.heap ?? {};
  return {
    state: isNone ? ('none' as const) : state.kind,
    source: read?.source ?? null,
    since: isNone ? null : formatIso(state.sinceEpochMs),
    reason: state.kind === 'unavailable' ? state.reason : null,
    /** Bytes; null if unlimited or unknown. */
    heapMax: max > 0 ? max : null,
  };
}

type Capacity =
  | ('threads.busy' | 'threads.max' | 'connections' | 'jvm.threads.live' | 'processors' | 'process.cpu')
  | ('process.memory' | 'process.descriptors.open' | 'process.descriptors.max');

/** The server's capacity: the gauges of `metrics/server` (`process.cpu` in cores), and more. Unknown values are absent. */
interface ServerCapacity extends Readonly<Partial<Record<Capacity, number | undefined>>> {
  readonly deadlock?: { readonly threads: number; readonly at: string; readonly file: string | undefined } | undefined;
}

function selectServer({ state }: MonitoredJvm, live: MonitoredLive): ServerCapacity {
  const { deadlockedThreads: threads = 0, atEpochMs = 0, fileName: file } = live.diagnosed() ?? {};
  const deadlock = threads === 0 ? undefined : { threads, at: formatIso(atEpochMs), file };
  if (state.kind === 'unavailable') return { deadlock };
  const gauges = Array.from(createServerGauges(state.server).gauges, ([name, gauge]) => [
    name.slice('server.'.length),
    gauge.read(),
  ]);
  return { ...Object.fromEntries(gauges), processors: state.server.process.processors, deadlock };
}

interface LiveCounterSources {
  readonly sidecar: Pick<MonitoredSidecar, 'own' | 'limits' | 'reporter' | 'dispatcher'>;
  readonly applications: readonly Pick<MonitoredApplication, 'statistics'>[];
  readonly unclassified: Pick<UnclassifiedRequests, 'outside'>;
}

const LIMIT = 'limit ';
const FAILURE = 'failure ';
const REFUSED = 'refused';
const OBSERVER_ERRORS = 'observerErrors';
const OUTSIDE = 'outside';

/** What `recentCounts` is of, e.g. `limit sessions.max` => 3, `failure D2S_ERR_UPSTREAM_REFUSED` => 17. No limits of silence. */
export function readLiveCounters({
  sidecar,
  applications,
  unclassified,
}: LiveCounterSources): ReadonlyMap<string, number> {
  const folded = (kind: 'rpc' | 'sba' | 'object') =>
    applications.reduce((sum, { statistics }) => sum + statistics[kind].foldedCount, 0);
  const limits = [
    ...[...sidecar.limits.counts].filter(([key]) => !SILENCE_LIMITS.has(key)),
    ['sessions.max', sidecar.own.sessionsUntracked],
    ['metrics.maxNames.rpc', folded('rpc')],
    ['metrics.maxNames.sba', folded('sba')],
    ['metrics.maxNames.object', folded('object')],
  ] as const;
  return new Map<string, number>([
    ...limits.map(([key, hits]) => [LIMIT + key, hits] as const),
    ...Array.from(sidecar.reporter.failures.counts, ([code, count]) => [FAILURE + code, count] as const),
    [REFUSED, sidecar.dispatcher.refusedConnections],
    [OBSERVER_ERRORS, sidecar.reporter.observerErrors],
    [OUTSIDE, unclassified.outside],
  ]);
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
function selectOutside({ unclassified }: MonitoredLive, count: RecentCount, role: Role) {
  const { segments, other } = role === 'sessions' ? unclassified.readOutside() : { segments: null, other: null };
  return { ...count, segments: segments?.map(([segment, requests]) => ({ segment, requests })) ?? null, other };
}

const MAX_RUNNING = 200;
const MAX_SLOWEST = 100;

/** One line of JSON with its line feed. */
export function renderTop(monitored: Monitored): string {
  const calls = {
    calls: monitored.applications.map(({ name, running, slowest }) => ({
      ...{ name, total: running.size, running: running.oldest(MAX_RUNNING) },
      slowest: slowest.slowest().slice(0, MAX_SLOWEST),
    })),
  };
  const page = renderLive(monitored, { role: 'sessions', since: 0 });
  return `${[...jsonWithMember(calls, 'live', page)].join('')}\n`;
}
