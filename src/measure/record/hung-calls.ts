import type { CallStatistics } from '../../metrics/call-statistics.ts';
import type { RunningCalls, RunningName } from './running-calls.ts';

/** A name whose running calls all hang. Ages are in seconds. */
export interface HungName extends RunningName {
  /** Of all answered calls of this name, rounded up to a bucket of `d2_call_duration_seconds`; null without any. */
  readonly p99: number | null;
}

interface Calls {
  readonly running: Pick<RunningCalls, 'byName'>;
  readonly statistics: Readonly<Record<'rpc' | 'sba', Pick<CallStatistics, 'countsByName'>>>;
}

/** A call hangs after this many times the p99 of its name. */
const TIMES_USUAL = 10;
/** Shorter calls never count as hung. */
const MIN_S = 5;
/** The limit for a single call of a name without a p99. */
const MIN_ALONE_S = 30;

/** The name with the most hung calls; null if nothing hangs. */
export function findHung({ running, statistics }: Calls): HungName | null {
  let worst: HungName | null = null;
  for (const name of running.byName()) {
    if (name.youngest < MIN_S || name.count < (worst?.count ?? 1)) continue;
    const p99 = usualOf(name, statistics);
    const isAlone = name.count === 1 && p99 === null;
    const leastS = p99 === null ? (isAlone ? MIN_ALONE_S : MIN_S) : TIMES_USUAL * p99;
    const isWorse = worst === null || name.count > worst.count || name.oldest > worst.oldest;
    if (name.youngest >= leastS && isWorse) worst = { ...name, p99 };
  }
  return worst;
}

function usualOf({ kind, name }: RunningName, statistics: Calls['statistics']): number | null {
  if (kind !== 'rpc' && kind !== 'sba') return null;
  const durations = statistics[kind].countsByName.get(name)?.durations;
  const counts = durations?.cumulative() ?? [];
  const all = counts.at(-1) ?? 0;
  if (durations === undefined || all === 0) return null;
  // Durations above the last bound are unknown.
  return durations.bounds[counts.findIndex((count) => count >= 0.99 * all)] ?? Number.POSITIVE_INFINITY;
}

/** Shown in place of a name without an answered call, which may be any text that a client sent. */
export const UNCONFIRMED = '(not answered yet)';

/** For readers without the role `sessions`: hides a name without an answered call. */
export function hideUnconfirmedName({ name, p99 }: HungName): string {
  return p99 === null ? UNCONFIRMED : name;
}
