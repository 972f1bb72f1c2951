/**
 * The output of `d2-sidecar report`: one JSON document about a running sidecar, for a support ticket. It reads what the
 * monitoring port reads, in the same slices, and must not change it. It must not contain secrets, and identifies users
 * only on request. docs/report.md describes its parts.
 */

import v8 from 'node:v8';
import type { Clock } from '../../base/clock.ts';
import type { LogRing } from '../../base/log-ring.ts';
import type { Sample, Table } from '../../base/metric-description.ts';
import type { Config } from '../../config/config.ts';
import { toEffective } from '../../config/effective.ts';
import { toMetricSet } from '../../jvm/gauges.ts';
import type { JvmState } from '../../jvm/jvm-monitor.ts';
import type { SessionEntry } from '../../measure/sessions/session.ts';
import { MetricsRenderer } from '../dropwizard/render.ts';
import { LoopShare, type NextTurn } from '../loop-share.ts';
import type { Monitored, MonitoredApplication } from '../monitored.ts';
import { SlicedAnswer } from '../sliced-answer.ts';
import { readSystem } from './system-reading.ts';

/** Version of the document: raised when the position or meaning of a field changes. */
const FORMAT = 1;
/** Per application, oldest first. More would add little, and make the report too large to send. */
const MAX_SESSIONS = 1_000;
/** Maximum paths of requests that are not calls. */
const MAX_PATHS = 200;
const MAX_CHARS = 64 * 1024 * 1024;
const HIDDEN = '[hidden]';

export interface ReportSources {
  readonly config: Config;
  readonly monitored: Pick<Monitored, 'applications' | 'sidecar' | 'jvm' | 'toTables' | 'live'>;
  /** Absent if the log is not kept. */
  readonly log: LogRing | undefined;
  readonly clock: Clock;
  readonly nextTurn?: NextTurn;
}

/** A line of JSON with its line feed, in slices. Cut off without it after 64 Mi characters, or by an error. */
export async function createReport(sources: ReportSources, hasUsers: boolean): Promise<SlicedAnswer> {
  const [system, process] = await Promise.all([readSystem(), sources.monitored.sidecar.readProcess()]);
  const tables = sources.monitored.toTables(process).filter(({ labels }) => !labels.includes('name'));
  const pieces = bounded(reportPieces(sources, { system, process, tables, hasUsers }));
  return new SlicedAnswer(pieces, new LoopShare(sources.clock, sources.nextTurn));
}

interface Readings {
  readonly system: object;
  readonly process: object;
  /** The tables of bounded length. */
  readonly tables: readonly Table[];
  readonly hasUsers: boolean;
}

type Pieces = Generator<string, void, undefined>;

function* reportPieces(sources: ReportSources, { system, process: reading, tables, hasUsers }: Readings): Pieces {
  const { config, monitored, log, clock } = sources;
  const { sidecar, applications } = monitored;
  yield `{"report":${FORMAT},"time":"${new Date(clock.epochMs()).toISOString()}","hasUsers":${hasUsers}`;
  yield member('versions', { sidecar: sidecar.version, build: sidecar.build, ...process.versions });
  yield member('system', system);
  yield member('process', { ...reading, ...processOfNode() });
  yield member('configuration', hasUsers ? toEffective(config) : withoutUsers(toEffective(config)));
  yield member('state', toState(sidecar));
  yield* logPieces(log);
  yield* jvmPieces(monitored, config);
  yield* tablePieces(tables);
  yield* statisticsPieces(applications, config);
  yield* sessionPieces(applications, hasUsers);
  // A segment of a path may name a person.
  yield member('unclassified', hasUsers ? (monitored.live?.unclassified.read(MAX_PATHS) ?? []) : []);
  yield '}\n';
}

function processOfNode(): object {
  const { heap_size_limit: heapLimitBytes } = v8.getHeapStatistics();
  return { heapLimitBytes, uptimeSeconds: process.uptime(), userId: process.getuid?.() ?? null };
}

function toState({ lifecycle, upstream, limits, reporter, dispatcher }: Monitored['sidecar']): object {
  return {
    lifecycle: lifecycle.state,
    stopLeftMs: lifecycle.leftMs ?? null,
    upstream: upstream.reachability.kind,
    openConnections: dispatcher.openConnections,
    openExchanges: reporter.open,
    inFlight: reporter.inFlight,
    webSockets: dispatcher.webSockets.open,
    observerErrors: reporter.observerErrors,
    limitsHit: Object.fromEntries(limits.counts),
    upstreamFailures: Object.fromEntries(reporter.failures.counts),
  };
}

/** The last warnings and errors, as logged. */
function* logPieces(log: LogRing | undefined): Pieces {
  yield `,"log":{"forgotten":${log?.dropped ?? 0},"lines":[`;
  let before = '';
  for (const line of log?.lines ?? []) {
    yield before + line;
    before = ',';
  }
  yield ']}';
}

function* jvmPieces({ jvm }: ReportSources['monitored'], { metrics }: Config): Pieces {
  const { state, reads = 0, failures = 0, boundsHit = new Map() } = jvm;
  yield `,"jvm":{"reads":${reads},"failures":${failures},"boundsHit":${JSON.stringify(Object.fromEntries(boundsHit))}`;
  yield* stateOfJvm(state, metrics);
  yield '}';
}

function* stateOfJvm(state: JvmState, { durationUnit }: Config['metrics']): Pieces {
  const since = new Date(state.sinceEpochMs).toISOString();
  if (state.kind === 'unavailable') {
    yield `,"state":"unavailable","since":"${since}","reason":${JSON.stringify(state.reason)}`;
    return;
  }
  const { source, memory, ageMs, gauges } = state;
  const text = JSON.stringify({ state: 'available', since, source, memory, ageMs });
  yield `,${text.slice(1, -1)},"metrics":`;
  yield* new MetricsRenderer().render([toMetricSet(gauges)], { pretty: false, durationUnit });
}

/** What `/metrics` shows, without the tables of single names, which are in the statistics. */
function* tablePieces(tables: readonly Table[]): Pieces {
  yield ',"metrics":{';
  let before = '';
  for (const { name, labels, samples } of tables) {
    yield `${before}"${name}":[`;
    let beforeSample = '';
    for (const sample of samples()) {
      yield beforeSample + toSampleText(labels, sample);
      beforeSample = ',';
    }
    yield ']';
    before = ',';
  }
  yield '}';
}

function toSampleText(labels: readonly string[], { labels: values, value }: Sample): string {
  const named = Object.fromEntries(labels.map((label, i) => [label, values[i] ?? '']));
  if (typeof value === 'number') return JSON.stringify({ ...named, value });
  if (!('cumulative' in value)) return JSON.stringify({ ...named, ...value });
  const { bounds, sumSeconds } = value;
  return JSON.stringify({ ...named, sum: sumSeconds, bounds, cumulative: value.cumulative() });
}

/** The answer of the endpoint `metrics/d2` for each application. */
function* statisticsPieces(applications: readonly MonitoredApplication[], { metrics }: Config): Pieces {
  const options = { pretty: false, durationUnit: metrics.durationUnit };
  yield ',"statistics":{';
  let before = '';
  for (const { name, statistics, sessions } of applications) {
    yield `${before}${JSON.stringify(name)}:`;
    const { rpc, sba, object } = statistics;
    const sets = [sessions.metrics(), rpc.metrics(), sba.metrics(), object.metrics()];
    yield* new MetricsRenderer().render(sets, options);
    before = ',';
  }
  yield '}';
}

function* sessionPieces(applications: readonly MonitoredApplication[], hasUsers: boolean): Pieces {
  yield ',"sessions":{';
  let before = '';
  for (const { name, sessions } of applications) {
    const byType = sessions.countsByType();
    const omitted = Math.max(0, byType.REST + byType.COMET_WEBSOCKET + byType.COMET_LONG_POLLING - MAX_SESSIONS);
    yield `${before}${JSON.stringify(name)}:{"byType":${JSON.stringify(byType)},"omitted":${omitted},"list":[`;
    before = ',';
    let count = 0;
    for (const entry of sessions.entries()) {
      yield (count === 0 ? '' : ',') + JSON.stringify(hasUsers ? entry : anonymous(entry));
      count += 1;
      if (count === MAX_SESSIONS) break;
    }
    yield ']}';
  }
  yield '}';
}

function anonymous({ userName: _, remoteAddress: __, ...entry }: SessionEntry): object {
  return entry;
}

/** Hides the user names, which are in three places of a configuration. */
function withoutUsers(effective: object): object {
  const hidden = structuredClone(effective) as {
    sessions: { apiKeys: { user: string }[] };
    monitor: { auth?: { certificates?: { name: string }[] } | 'none' };
    jvm: { http?: { username?: string } };
  };
  for (const pair of hidden.sessions.apiKeys) pair.user = HIDDEN;
  const { auth } = hidden.monitor;
  for (const reader of (typeof auth === 'object' && auth.certificates) || []) reader.name = HIDDEN;
  if (hidden.jvm.http?.username !== undefined) hidden.jvm.http.username = HIDDEN;
  return hidden;
}

function* bounded(pieces: Pieces): Pieces {
  let chars = 0;
  for (const piece of pieces) {
    chars += piece.length;
    if (chars > MAX_CHARS) throw new Error('the report is too large');
    yield piece;
  }
}

function member(name: string, value: object): string {
  return `,"${name}":${JSON.stringify(value)}`;
}
