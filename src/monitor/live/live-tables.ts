/** Renders the tables of the live page in pieces of one row each. Rows are compact, since there may be 10,000. */

import { NS_PER_S } from '../../base/clock.ts';
import { eachOnce } from '../../base/metric-description.ts';
import { SPARK_POINTS, STEP_SECONDS, STEPS_PER_SPARK_POINT } from '../../measure/history/steps.ts';
import type { CallEntry } from '../../measure/record/running-calls.ts';
import type { LiveSession, MonitoredApplication, MonitoredLive } from '../monitored.ts';
import { toShort } from './live-document.ts';

/** As in `d2/calls`. */
const MAX_CALLS = 1_000;

type Pieces = Generator<string, void, undefined>;

const NO_COUNTS = { ok: 0, clientErrors: 0 };

/**
 * Rows `[name, count, errors, ratePerSecond, p50, p99, ended, 12 points of a spark line]`. The percentiles are in
 * seconds, of the window.
 */
export function* renderCalls(
  kind: 'rpc' | 'sba',
  { name, statistics }: MonitoredApplication,
  live: MonitoredLive,
): Pieces {
  const sparks = { sparkPoints: SPARK_POINTS, sparkStepSeconds: STEPS_PER_SPARK_POINT * STEP_SECONDS };
  yield* renderRows(rowsOfCalls(kind, { name, statistics }, live), sparks);
}

function* rowsOfCalls(
  kind: 'rpc' | 'sba',
  { name: application, statistics }: Pick<MonitoredApplication, 'name' | 'statistics'>,
  { history }: MonitoredLive,
): Generator<readonly unknown[]> {
  const { timers, meters } = statistics[kind].metrics();
  const { countsByName } = statistics[kind];
  for (const [metric, timer] of eachOnce(timers)) {
    // The timer of this name is the total of all names.
    if (metric === kind) continue;
    const { count, rates, p50, p99 } = timer.snapshot();
    const errors = meters.get(`${metric}.errors`)?.count ?? 0;
    const durations = [toShort(p50 / NS_PER_S), toShort(p99 / NS_PER_S)];
    const callName = metric.slice(kind.length + 1);
    const { ok, clientErrors, errors: failed } = countsByName.get(callName) ?? { ...NO_COUNTS, errors };
    yield [
      callName,
      ...[count, errors, toShort(rates.m1), ...durations, ok + clientErrors + failed],
      ...history.lineOf(application, kind, callName),
    ];
  }
}

/** Rows `[name, subscriptions, newValuesTotal, newValuesPerSecond]`. */
export function* renderObjects({ statistics }: MonitoredApplication): Pieces {
  yield* renderRows(rowsOfObjects(statistics));
}

function* rowsOfObjects({ object }: MonitoredApplication['statistics']): Generator<readonly unknown[]> {
  for (const [name, { subscriptions, newValues }] of eachOnce(object.objects)) {
    const { count, m1 } = newValues.snapshot();
    yield [name, subscriptions.count, count, toShort(m1)];
  }
}

/**
 * Rows `[id, userName, connectionType, createTime, lastActivityTime, remoteAddress, requests, errors]`, oldest first. A
 * session whose user name is unverified has `false` as a further element.
 */
export function* renderSessionRows(sessions: Iterable<LiveSession>): Pieces {
  yield* renderRows(rowsOfSessions(sessions));
}

function* rowsOfSessions(sessions: Iterable<LiveSession>): Generator<readonly unknown[]> {
  for (const session of sessions) {
    const entry = session.toEntry();
    const { id, userName, connectionType, createTime, lastActivityTime, remoteAddress, requests } = entry;
    const row: unknown[] = [
      id,
      userName,
      connectionType,
      createTime,
      lastActivityTime,
      remoteAddress,
      requests,
      session.errors,
    ];
    if (entry.verified === false) row.push(false);
    yield row;
  }
}

/** Rows as `RunningRow` of page/live-data.ts has them, oldest first. */
export function* renderRunning({ running }: MonitoredApplication): Pieces {
  yield* renderRows(running.oldest(MAX_CALLS).map(toRunningRow));
}

/** The same followed by `[endTime, status, outcome]`, slowest first. */
export function* renderSlowest({ slowest }: MonitoredApplication): Pieces {
  const rows = slowest
    .slowest()
    .map((call, at) => [...toRunningRow(call, at), call.endTime, call.status, call.outcome]);
  yield* renderRows(rows);
}

function toRunningRow(call: CallEntry, at: number): readonly unknown[] {
  const { kind, name, userName, connectionType, remoteAddress, startTime, duration, sessionId, threadDump } = call;
  const what = [kind, name, userName, connectionType, remoteAddress, startTime, toShort(duration), sessionId];
  return [`${startTime} ${at}`, ...what, threadDump ?? null];
}

/** Rows `[path, count, p95]` of requests of all applications that are not calls, most frequent first. */
export function* renderUnclassified({ unclassified }: MonitoredLive): Pieces {
  yield* renderRows(unclassified.read(MAX_CALLS).map(({ path, count, p95 }) => [path, count, toShort(p95)]));
}

function* renderRows(rows: Iterable<readonly unknown[]>, members: object = {}): Pieces {
  const head = JSON.stringify(members).slice(0, -1);
  yield `${head}${head === '{' ? '' : ','}"rows":[`;
  let before = '';
  for (const row of rows) {
    yield before + JSON.stringify(row);
    before = ',';
  }
  yield ']}';
}
