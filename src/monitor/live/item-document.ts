/** Renders the views of one name and of one session, in pieces: what `d2/...` and the tables do not have. */
import { HEAT_BOUNDS_S, type NameKind, type NameMinute } from '../../measure/history/minute-record.ts';
import type { CallEntry } from '../../measure/record/running-calls.ts';
import type { NameCounts } from '../../metrics/statistics.ts';
import type { CallerRow, ItemDetails, ItemMinute } from '../../page/live-data.ts';
import type { Role } from '../access/reader.ts';
import type { Pieces } from '../json-pieces.ts';
import type { LiveSession, MonitoredApplication, MonitoredLive } from '../monitored.ts';
import { roundOrNull, roundTo4Digits } from './live-document.ts';

/** Rows of each list in one answer. */
const MAX_ROWS = 100;

/** Callers and single calls are null without the role `sessions`. */
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

function render({
  slowest,
  ...details
}: Omit<ItemDetails, 'slowest'> & { slowest: readonly CallEntry[] | null }): string {
  return JSON.stringify({ ...details, slowest: slowest?.slice(0, MAX_ROWS) ?? null } satisfies ItemDetails);
}

/** The current sessions that have called the name, or monitor or received it; those with the most calls first. */
function* findCallers(
  kind: NameKind,
  name: string,
  sessions: Iterable<LiveSession>,
): Generator<'', readonly CallerRow[], undefined> {
  const found: { readonly session: LiveSession; readonly counts: NameCounts }[] = [];
  for (const session of sessions) {
    const counts = session.countsOf({ kind, name });
    if (counts.count + counts.errors + counts.subscriptions > 0) found.push({ session, counts });
    yield '';
  }
  found.sort((a, b) => b.counts.count - a.counts.count);
  return found.slice(0, MAX_ROWS).map(({ session, counts }) => {
    const { id, userName, remoteAddress, connectionType, verified = true } = session.toEntry();
    return { id, userName, verified, remoteAddress, connectionType, ...counts };
  });
}

function selectMinute({ epochMs, seconds, p50, p95, max, ...counts }: NameMinute): ItemMinute {
  const durations = { p50: roundOrNull(p50), p95: roundOrNull(p95), max: roundOrNull(max) };
  return { t: epochMs / 1_000, seconds: roundTo4Digits(seconds), ...counts, ...durations };
}
