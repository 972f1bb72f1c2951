/** What the history reads, for tests to change at will; calls, values and sessions are counted by the real classes. */
import type { JvmState } from '../../../../src/jvm/jvm-monitor.ts';
import type { JvmReading } from '../../../../src/jvm/jvm-source.ts';
import { createServerState } from '../../../../src/jvm/server-reading.ts';
import type { HistorySources } from '../../../../src/measure/history/history.ts';
import type { UpstreamCondition } from '../../../../src/measure/history/marks.ts';
import { CallTotals } from '../../../../src/measure/record/call-totals.ts';
import { type ApplicationStatistics, createStatistics } from '../../../../src/metrics/statistics.ts';
import { ManualClock } from '../../clock.ts';
import { NO_READING } from '../../jvm/no-reading.ts';

type Changeable<T> = { -readonly [Key in keyof T]: T[Key] };

export interface Sources extends Changeable<HistorySources> {
  readonly clock: ManualClock;
  readonly statistics: ApplicationStatistics;
  readonly counts: {
    aborted: { rpc: number; sba: number; object: number };
    unanswered: { rpc: number; sba: number; object: number };
    comet: { holds: { now: number } };
  };
  readonly sessions: { size: number; created: { count: number } };
  readonly totals: CallTotals;
  upstream: { reachability: UpstreamCondition };
  jvm: { state: JvmState; failures?: number };
  lifecycle: { state: string };
  reloads: { lastAppliedEpochMs: number };
}

export function createSources({ maxNames = 100 } = {}): Sources {
  const clock = new ManualClock();
  const limits = { rpc: maxNames, sba: maxNames, object: maxNames };
  const statistics = createStatistics(
    { windowMs: 300_000, durationUnit: 'seconds', maxNames: limits, maxNamesPerSession: 10 },
    clock,
  );
  const none = { rpc: 0, sba: 0, object: 0 };
  const counts = { aborted: { ...none }, unanswered: { ...none }, comet: { holds: { now: 0 } } };
  const sessions = { size: 0, created: { count: 0 } };
  const totals = new CallTotals();
  return {
    ...{ clock, statistics, counts, sessions, totals },
    applications: [{ name: 'smartWeb', statistics, sessions, totals }],
    own: counts,
    upstream: { reachability: { kind: 'unknown' } },
    jvm: { state: unavailable('The JVM has not been read yet.', 1), failures: 0 },
    lifecycle: { state: 'starting' },
    reloads: { lastAppliedEpochMs: clock.epochMs() },
    counters: () => new Map(),
    isRestored: false,
  };
}

export function available(reading: Partial<JvmReading>, sinceEpochMs = 0): JvmState {
  const whole: JvmReading = { ...NO_READING, memory: 'live', ...reading };
  const server = createServerState({}, 0, undefined);
  return {
    ...{ kind: 'available', reading: whole, gauges: undefined as never, server, source: 'hsperfdata', ageMs: 0 },
    ...{ memory: whole.memory, sinceEpochMs },
  };
}

export function unavailable(reason: string, sinceEpochMs = 0): JvmState {
  return { kind: 'unavailable', reason, sinceEpochMs };
}
