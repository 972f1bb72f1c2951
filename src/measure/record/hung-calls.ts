import type { CallStatistics } from '../../metrics/call-statistics.ts';
import type { RunningCalls, RunningName } from './running-calls.ts';

/** A name whose calls all hang: none of them is new. Ages in seconds. */
export interface HungName extends RunningName {
  /** Of all answered calls of this name, rounded up to a bucket of `d2_call_duration_seconds`; null without any. */
  readonly p99: number | null;
}

interface Calls {
  readonly running: Pick<RunningCalls, 'byName'>;
  readonly statistics: Readonly<Record<'rpc' | 'sba', Pick<CallStatistics, 'countsByName'>>>;
}

/** A call hangs from this many times its usual duration. */
const TIMES_USUAL = 10;
/** Shorter calls are never said to hang. */
const LEAST_S = 5;
/** A single call that nothing can be compared with. */
const LEAST_ALONE_S = 30;

/** The name with the most hung calls; null if nothing hangs. */
export function findHung({ running, statistics }: Calls): HungName | null {
  let worst: HungName | null = null;
  for (const name of running.byName()) {
    if (name.youngest < LEAST_S || name.count < (worst?.count ?? 1)) continue;
    const p99 = usualOf(name, statistics);
    const isAlone = name.count === 1 && p99 === null;
    const leastS = p99 === null ? (isAlone ? LEAST_ALONE_S : LEAST_S) : TIMES_USUAL * p99;
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
  // Above the last bound nothing is known of the duration.
  return durations.bounds[counts.findIndex((count) => count >= 0.99 * all)] ?? Number.POSITIVE_INFINITY;
}

/** A name that no answer has confirmed yet may be anything that a client has sent. */
export const UNCONFIRMED = '(not answered yet)';

/** For readers who may not see it then: the name only if there are answers. */
export function toConfirmedName({ name, p99 }: HungName): string {
  return p99 === null ? UNCONFIRMED : name;
}
