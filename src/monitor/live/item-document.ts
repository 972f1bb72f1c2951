/** Renders the views of one name and of one session: what their tables do not have. */
import { HEAT_BOUNDS_S, type NameKind, type NameMinute } from '../../measure/history/minute-record.ts';
import type { SlowEntry } from '../../measure/record/slowest-calls.ts';
import type { NameCounts } from '../../metrics/statistics.ts';
import type { CallerRow, ItemDetails, ItemMinute } from '../../page/live-data.ts';
import type { Role } from '../access/reader.ts';
import type { LiveSession, MonitoredApplication, MonitoredLive } from '../monitored.ts';
import { roundOrNull, roundTo4Digits } from './live-document.ts';

/** Rows of each list in one answer. */
const MAX_ROWS = 100;

export function readName(
  kind: NameKind,
  name: string,
  application: MonitoredApplication,
  live: MonitoredLive,
  role: Role,
): ItemDetails {
  const statuses = kind === 'object' ? undefined : application.statistics[kind].countsByName.get(name)?.statuses;
  const isOfName = (entry: { readonly kind: string; readonly name: string }) =>
    entry.kind === kind && entry.name === name;
  return {
    minutes: live.history.minutesOf(application.name, kind, name).map(selectMinute),
    heatBounds: HEAT_BOUNDS_S,
    statuses: Array.from(statuses ?? [], ([status, count]) => ({ status, count })).sort((a, b) => b.count - a.count),
    // Users, addresses and sessions.
    ...(role === 'sessions'
      ? {
          callers: readCallers(kind, name, live.sessionsOf(application.name)),
          running: application.running.oldest(MAX_ROWS, ({ call }) => isOfName(call)),
          slowest: select(application.slowest.slowestOf(isOfName)),
        }
      : NOTHING_PERSONAL),
  };
}

export function readSession(id: string, { running, slowest }: MonitoredApplication): ItemDetails {
  return {
    ...{ minutes: [], heatBounds: [], statuses: [], callers: null },
    running: running.oldest(MAX_ROWS, ({ session }) => session?.id === id),
    slowest: select(slowest.slowestOf(({ sessionId }) => sessionId === id)),
  };
}

const NOTHING_PERSONAL = { callers: null, running: null, slowest: null };

function select(entries: readonly SlowEntry[]): readonly SlowEntry[] {
  return entries.slice(0, MAX_ROWS);
}

/** The current sessions that have called or monitor the name; those with the most calls first. */
function readCallers(kind: NameKind, name: string, sessions: Iterable<LiveSession>): readonly CallerRow[] {
  const found: { readonly session: LiveSession; readonly counts: NameCounts }[] = [];
  for (const session of sessions) {
    const counts = session.countsOf({ kind, name });
    if (counts.count + counts.errors + counts.subscriptions > 0) found.push({ session, counts });
  }
  found.sort((a, b) => b.counts.count - a.counts.count);
  return found.slice(0, MAX_ROWS).map(({ session, counts }) => {
    const { id, userName, remoteAddress, connectionType, verified = true } = session.toEntry();
    return { id, userName, verified, remoteAddress, connectionType, ...counts };
  });
}

function selectMinute({ epochMs, seconds, mean, p50, p95, max, ...counts }: NameMinute): ItemMinute {
  const durations = { mean: roundOrNull(mean), p50: roundOrNull(p50), p95: roundOrNull(p95), max: roundOrNull(max) };
  return { t: epochMs / 1_000, seconds: roundTo4Digits(seconds), ...counts, ...durations };
}
