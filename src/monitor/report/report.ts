/**
 * The output of `d2-sidecar report`: one JSON document about a running sidecar, for a support ticket. It reads what the
 * monitoring port reads, in the same slices, and must not change it. It must not contain secrets, and identifies users
 * only on request. docs/troubleshooting.md describes it.
 */

import { readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import v8 from 'node:v8';
import { type Clock, formatIso } from '../../base/clock.ts';
import type { LogRing } from '../../base/logger.ts';
import type { Sample, Table } from '../../base/metric-description.ts';
import { platform } from '../../base/platform/platform.ts';
import type { Config } from '../../config/config.ts';
import { describeEffective } from '../../config/effective.ts';
import { joinJvmGauges } from '../../jvm/gauges.ts';
import type { SessionEntry } from '../../measure/sessions/session.ts';
import type { MetricSet } from '../../metrics/metric-set.ts';
import { renderMetrics } from '../dropwizard/render.ts';
import { jsonArray, jsonObject, jsonWithMember, type Pieces } from '../json-pieces.ts';
import { selectVerdict } from '../live/live-document.ts';
import { LoopShare, type NextTurn } from '../loop-share.ts';
import type { Monitored, MonitoredApplication, MonitoredJvm } from '../monitored.ts';
import { SlicedAnswer } from '../send.ts';

/** Version of the document: raised when the position or meaning of a field changes. */
const FORMAT = 1;
/** Per application, oldest first. More would add little, and make the report too large to send. */
const MAX_SESSIONS = 1_000;
const MAX_BYTES = 64 * 1024 * 1024;
const HIDDEN = '[hidden]';

export interface ReportSources {
  readonly config: Config;
  readonly monitored: Pick<Monitored, 'applications' | 'sidecar' | 'jvm' | 'verdicts' | 'createTables' | 'live'>;
  readonly log: LogRing | undefined;
  readonly clock: Clock;
  readonly nextTurn?: NextTurn;
}

/** A line of JSON with its line feed, in slices. Cut off without it after 64 MiB, or by an error. */
export async function createReport(sources: ReportSources, hasUsers: boolean): Promise<SlicedAnswer> {
  const { config, monitored, log, clock } = sources;
  const { sidecar, applications, verdicts } = monitored;
  const role = hasUsers ? 'sessions' : 'metrics';
  const [system, reading] = await Promise.all([readSystem(), sidecar.readProcess()]);
  const tables = monitored.createTables(reading).filter(({ labels }) => !labels.includes('name'));
  const configuration = describeEffective(config);
  const { heap_size_limit: heapLimitBytes } = v8.getHeapStatistics();
  const pieces = jsonObject([
    ['report', json(FORMAT)],
    ['time', json(formatIso(clock.epochMs()))],
    ['hasUsers', json(hasUsers)],
    ['versions', json({ sidecar: sidecar.version, build: sidecar.build, ...process.versions })],
    ['system', json(system)],
    [
      'process',
      json({ ...reading, heapLimitBytes, uptimeSeconds: process.uptime(), userId: platform.userId() ?? null }),
    ],
    ['configuration', json(hasUsers ? configuration : withoutUsers(configuration))],
    ['state', json(readState(sidecar))],
    [
      'verdicts',
      json(Object.fromEntries(applications.map(({ name }) => [name, selectVerdict(verdicts.of(name), role)]))),
    ],
    // The last warnings and errors, as logged.
    ['log', jsonWithMember({ forgotten: log?.dropped ?? 0 }, 'lines', jsonArray([...(log?.lines ?? [])]))],
    ['jvm', jvmPieces(monitored.jvm, config)],
    // What `/metrics` shows, without the tables of single names, which are in the statistics.
    ['metrics', jsonObject(tables.map((table) => [table.name, jsonArray(sampleTexts(table))]))],
    // As the endpoint `metrics/d2` answers.
    ['statistics', jsonObject(applications.map((one) => [one.name, metricsPieces(selectAll(one), config.metrics)]))],
    ['sessions', jsonObject(applications.map((one) => [one.name, sessionPieces(one, hasUsers)]))],
    // A segment of a path may name a person.
    ['unclassified', json(hasUsers ? monitored.live.unclassified.readPaths() : [])],
  ]);
  const answer = new SlicedAnswer(lineOf(pieces), new LoopShare(clock, sources.nextTurn));
  answer.limit(MAX_BYTES, () => new Error('the report is too large'));
  return answer;
}

function json(value: unknown): Pieces {
  return [JSON.stringify(value)];
}

function readState({ lifecycle, upstream, limits, reporter, dispatcher }: Monitored['sidecar']): object {
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

function jvmPieces(
  { state, reads = 0, failures = 0, boundsHit = new Map() }: MonitoredJvm,
  { metrics }: Config,
): Pieces {
  const counts = { reads, failures, boundsHit: Object.fromEntries(boundsHit) };
  const since = formatIso(state.sinceEpochMs);
  if (state.kind === 'unavailable') return json({ ...counts, state: 'unavailable', since, reason: state.reason });
  const { source, reading, ageMs, gauges } = state;
  const head = { ...counts, state: 'available', since, source, memory: reading.memory, ageMs };
  return jsonWithMember(head, 'metrics', metricsPieces([joinJvmGauges(gauges)], metrics));
}

function metricsPieces(sets: readonly MetricSet[], { durationUnit }: Config['metrics']): Pieces {
  return renderMetrics(sets, { pretty: false, durationUnit });
}

function* sampleTexts({ labels, samples }: Table): Generator<string> {
  for (const sample of samples()) yield formatSample(labels, sample);
}

function formatSample(labels: readonly string[], { labels: values, value }: Sample): string {
  const named = Object.fromEntries(labels.map((label, i) => [label, values[i] ?? '']));
  if (typeof value === 'number') return JSON.stringify({ ...named, value });
  if (!('cumulative' in value)) return JSON.stringify({ ...named, ...value });
  const { bounds, sumSeconds } = value;
  return JSON.stringify({ ...named, sum: sumSeconds, bounds, cumulative: value.cumulative() });
}

function selectAll({ sessions, statistics: { rpc, sba, object } }: MonitoredApplication): readonly MetricSet[] {
  return [sessions.metrics(), rpc.metrics(), sba.metrics(), object.metrics()];
}

function sessionPieces({ sessions }: MonitoredApplication, hasUsers: boolean): Pieces {
  const byType = sessions.countsByType();
  const omitted = Math.max(0, byType.REST + byType.COMET_WEBSOCKET + byType.COMET_LONG_POLLING - MAX_SESSIONS);
  return jsonWithMember({ byType, omitted }, 'list', jsonArray(sessionTexts(sessions.entries(), hasUsers)));
}

function* sessionTexts(entries: Iterable<SessionEntry>, hasUsers: boolean): Generator<string> {
  let count = 0;
  for (const entry of entries) {
    yield JSON.stringify(hasUsers ? entry : { ...entry, userName: undefined, remoteAddress: undefined });
    count += 1;
    if (count === MAX_SESSIONS) break;
  }
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

function* lineOf(pieces: Pieces): Generator<string> {
  yield* pieces;
  yield '\n';
}

/** Files of version 2, then of version 1. */
const CGROUP_FILES = [
  ...['memory.max', 'memory.high', 'memory.current', 'memory.events', 'cpu.max', 'cpu.stat', 'pids.max'],
  ...['memory/memory.limit_in_bytes', 'memory/memory.usage_in_bytes', 'cpu/cpu.cfs_quota_us', 'cpu/cpu.cfs_period_us'],
];
const CGROUP_ROOT = '/sys/fs/cgroup';
const MAX_TEXT_CHARS = 1_000;
const LIMITS = /^Max (?:open files|processes|locked memory|core file size) .*$/gm;

/** The machine, and the limits of this process on it. Omits host name and addresses. */
async function readSystem(): Promise<object> {
  const [release, limits, cgroup] = await Promise.all([
    readText('/etc/os-release'),
    readText(`${platform.procPath}/self/limits`),
    readCgroup(),
  ]);
  return {
    platform: platform.name,
    architecture: process.arch,
    distribution: /^PRETTY_NAME="?([^"\n]*)/m.exec(release ?? '')?.[1] ?? null,
    kernel: os.release(),
    cpus: os.availableParallelism(),
    loadAverage: os.loadavg(),
    memoryBytes: { total: os.totalmem(), free: os.freemem() },
    uptimeSeconds: os.uptime(),
    cgroup,
    limits: (limits?.match(LIMITS) ?? []).map((line) => line.replace(/\s+/g, ' ').trim()),
  };
}

async function readCgroup(): Promise<Record<string, string>> {
  // In a container the process sees its own group as the root; outside, its group is below the root.
  const own = /^0::(\/.*)$/m.exec((await readText(`${platform.procPath}/self/cgroup`)) ?? '')?.[1] ?? '';
  const found: Record<string, string> = {};
  for (const file of CGROUP_FILES) {
    const text = (await readText(`${CGROUP_ROOT}${own}/${file}`)) ?? (await readText(`${CGROUP_ROOT}/${file}`));
    if (text !== undefined) found[path.basename(file)] = text.trim().slice(0, MAX_TEXT_CHARS);
  }
  return found;
}

async function readText(file: string): Promise<string | undefined> {
  return await readFile(file, 'utf8').catch(() => undefined);
}
