/**
 * Renders the tables of the live page, and the views of one name and of one session: what `d2/...` does not have.
 *
 * A table is in pieces of one row each, e.g. `{"columns":["name","count"],"rows":[["E.A.B",3]]}`.
 * The names are said once, since there may be 10,000 rows; the page makes a record of each row.
 */

import { NS_PER_S } from '../../base/clock.ts';
import { eachOnce } from '../../base/metric-description.ts';
import { HEAT_BOUNDS_S, type NameKind, type NameMinute } from '../../measure/history/minute-record.ts';
import type { CallEntry, SlowEntry } from '../../measure/record/running-calls.ts';
import type { NameCounts } from '../../metrics/statistics.ts';
import type { Role } from '../access/reader.ts';
import type { Pieces } from '../json-pieces.ts';
import type { LiveSession, MonitoredApplication, MonitoredLive } from '../monitored.ts';
import { roundOrNull, roundTo4Digits } from './live-document.ts';

const NO_COUNTS = { ok: 0, clientErrors: 0 };

export function* readCalls(
  kind: 'rpc' | 'sba',
  { name: application, statistics }: MonitoredApplication,
  { history }: MonitoredLive,
) {
  const { timers, meters } = statistics[kind].metrics();
  const { countsByName } = statistics[kind];
  for (const [metric, timer] of eachOnce(timers)) {
    // The timer of this name is the total of all names.
    if (metric === kind) continue;
    const { count, rates, p50, p99 } = timer.snapshot();
    const errors = meters.get(`${metric}.errors`)?.count ?? 0;
    const name = metric.slice(kind.length + 1);
    const { ok, clientErrors, errors: failed } = countsByName.get(name) ?? { ...NO_COUNTS, errors };
    yield {
      name,
      count,
      errors,
      /** Calls a second, of one minute. */
      rate: roundTo4Digits(rates.m1),
      /** Of the window (`metrics.window`). */
      p50: secondsOrNull(p50),
      p99: secondsOrNull(p99),
      /** Calls, answered or not. */
      ended: ok + clientErrors + failed,
      /** Calls in each of the last 12 times 25 s, oldest first. */
      spark: history.of(application)?.lineOf(kind, name) ?? [],
    };
  }
}

/** In an empty window all durations are 0; a real call takes longer. */
function secondsOrNull(ns: number): number | null {
  return ns === 0 ? null : roundTo4Digits(ns / NS_PER_S);
}

export function* readObjects({ statistics }: MonitoredApplication) {
  for (const [name, { subscriptions, newValues }] of eachOnce(statistics.object.objects)) {
    const { count, m1 } = newValues.snapshot();
    yield { name, subscriptions: subscriptions.count, values: count, rate: roundTo4Digits(m1) };
  }
}

/** Oldest first. */
export function* readSessions(sessions: Iterable<LiveSession>) {
  for (const session of sessions) {
    const { id, userName, connectionType, createTime, verified = true, ...entry } = session.toEntry();
    const { lastActivityTime, remoteAddress, requests } = entry;
    const times = { createTime, lastActivityTime };
    yield { id, userName, connectionType, ...times, remoteAddress, requests, errors: session.errors, verified };
  }
}

/** All rows must have the same keys in the same order. */
export function* renderTable(rows: Iterable<object>): Pieces {
  let before = '';
  for (const row of rows) {
    yield before === '' ? `{"columns":${JSON.stringify(Object.keys(row))},"rows":[` : before;
    yield JSON.stringify(Object.values(row));
    before = ',';
  }
  yield before === '' ? '{"columns":[],"rows":[]}' : ']}';
}

/** What has users is null without the role `sessions`. */
export interface ItemDetails {
  /** Oldest first; the last has not ended. Empty for a session. */
  readonly minutes: readonly ReturnType<typeof selectMinute>[];
  /** Upper bounds of the counts in `heat`; one more count has none. */
  readonly heatBounds: readonly number[];
  /** Calls since the start that did not succeed, e.g. `{ status: '503', count: 3 }`. */
  readonly statuses: readonly { readonly status: string; readonly count: number }[];
  readonly callers: readonly ReturnType<typeof selectCaller>[] | null;
  readonly running: readonly CallEntry[] | null;
  readonly slowest: readonly SlowEntry[] | null;
}

/** Rows of each list in one answer. */
const MAX_ROWS = 100;

export function* renderName(
  kind: NameKind,
  name: string,
  application: MonitoredApplication,
  live: MonitoredLive,
  role: Role,
): Pieces {
  const statuses = kind === 'object' ? undefined : application.statistics[kind].countsByName.get(name)?.statuses;
  const isOfName = (call: { readonly kind: string; readonly name: string }) => call.kind === kind && call.name === name;
  const isPersonal = role === 'sessions';
  const callers = isPersonal ? yield* findCallers(kind, name, live.sessionsOf(application.name)) : null;
  const running = isPersonal ? application.running.oldest(MAX_ROWS, ({ call }) => isOfName(call)) : null;
  yield '';
  const slowest = isPersonal ? application.slowest.slowest(isOfName) : null;
  yield '';
  yield render({
    minutes: live.history.minutesOf(application.name, kind, name).map(selectMinute),
    heatBounds: HEAT_BOUNDS_S,
    statuses: Array.from(statuses ?? [], ([status, count]) => ({ status, count })).sort((a, b) => b.count - a.count),
    ...{ callers, running, slowest },
  });
}

export function* renderSession(id: string, { running, slowest }: MonitoredApplication): Pieces {
  const runningOfSession = running.oldest(MAX_ROWS, ({ session }) => session?.id === id);
  yield '';
  yield render({
    ...{ minutes: [], heatBounds: [], statuses: [], callers: null },
    running: runningOfSession,
    slowest: slowest.slowest(({ sessionId }) => sessionId === id),
  });
}

function render({ slowest, ...details }: ItemDetails): string {
  return JSON.stringify({ ...details, slowest: slowest?.slice(0, MAX_ROWS) ?? null });
}

/** The current sessions that have called the name, or monitor or received it; those with the most calls first. */
function* findCallers(
  kind: NameKind,
  name: string,
  sessions: Iterable<LiveSession>,
): Generator<'', ReturnType<typeof selectCaller>[], undefined> {
  const found: FoundCaller[] = [];
  for (const session of sessions) {
    const counts = session.countsOf({ kind, name });
    if (counts.count + counts.errors + counts.subscriptions > 0) found.push({ session, counts });
    yield '';
  }
  found.sort((a, b) => b.counts.count - a.counts.count);
  return found.slice(0, MAX_ROWS).map(selectCaller);
}

interface FoundCaller {
  readonly session: LiveSession;
  readonly counts: NameCounts;
}

function selectCaller({ session, counts }: FoundCaller) {
  const { id, userName, remoteAddress, connectionType, verified = true } = session.toEntry();
  return { id, userName, verified, remoteAddress, connectionType, ...counts };
}

function selectMinute({ epochMs, seconds, p50, p95, max, ...counts }: NameMinute) {
  const durations = { p50: roundOrNull(p50), p95: roundOrNull(p95), max: roundOrNull(max) };
  return { t: epochMs / 1_000, seconds: roundTo4Digits(seconds), ...counts, ...durations };
}
