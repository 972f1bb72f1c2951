/**
 * Renders the tables of the live page in pieces of one row each, e.g. `{"columns":["name","count"],"rows":[["E.A.B",3]]}`.
 * The names are said once, since there may be 10,000 rows; the page makes a record of each row.
 */

import { NS_PER_S } from '../../base/clock.ts';
import { eachOnce } from '../../base/metric-description.ts';
import type { CallRow, ObjectRow, SessionRow } from '../../page/live-data.ts';
import type { LiveSession, MonitoredApplication, MonitoredLive } from '../monitored.ts';
import { roundTo4Digits } from './live-document.ts';

const NO_COUNTS = { ok: 0, clientErrors: 0 };

export function* readCalls(
  kind: 'rpc' | 'sba',
  { name: application, statistics }: MonitoredApplication,
  { history }: MonitoredLive,
): Generator<CallRow> {
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
      rate: roundTo4Digits(rates.m1),
      p50: secondsOrNull(p50),
      p99: secondsOrNull(p99),
      ended: ok + clientErrors + failed,
      spark: history.lineOf(application, kind, name),
    };
  }
}

/** In an empty window all durations are 0; a real call takes longer. */
function secondsOrNull(ns: number): number | null {
  return ns === 0 ? null : roundTo4Digits(ns / NS_PER_S);
}

export function* readObjects({ statistics }: MonitoredApplication): Generator<ObjectRow> {
  for (const [name, { subscriptions, newValues }] of eachOnce(statistics.object.objects)) {
    const { count, m1 } = newValues.snapshot();
    yield { name, subscriptions: subscriptions.count, values: count, rate: roundTo4Digits(m1) };
  }
}

/** Oldest first. */
export function* readSessions(sessions: Iterable<LiveSession>): Generator<SessionRow> {
  for (const session of sessions) {
    const { id, userName, connectionType, createTime, verified = true, ...entry } = session.toEntry();
    const { lastActivityTime, remoteAddress, requests } = entry;
    const times = { createTime, lastActivityTime };
    yield { id, userName, connectionType, ...times, remoteAddress, requests, errors: session.errors, verified };
  }
}

/** All rows must have the same keys in the same order. */
export function* renderTable(rows: Iterable<object>): Generator<string, void, undefined> {
  let before = '';
  for (const row of rows) {
    yield before === '' ? `{"columns":${JSON.stringify(Object.keys(row))},"rows":[` : before;
    yield JSON.stringify(Object.values(row));
    before = ',';
  }
  yield before === '' ? '{"columns":[],"rows":[]}' : ']}';
}
