/** The last hour of an application, collected by this page from its polls. */
import type { HistoryPoint, StepCalls } from './live-data.ts';

/** An hour of 5 s steps, as many as the sidecar keeps. */
const MAX_POINTS = 720;
const MINUTE_S = 60;
const MIN_USUAL_MINUTES = 5;
const NOISE = 0.2;

/** Appends the points that are newer than `known`; known points are not repeated. */
export function append(known: readonly HistoryPoint[], fresh: readonly HistoryPoint[]): readonly HistoryPoint[] {
  const lastSeq = known.at(-1)?.seq ?? Number.NEGATIVE_INFINITY;
  const added = fresh.filter((point) => point.seq > lastSeq);
  return added.length === 0 ? known : [...known, ...added].slice(-MAX_POINTS);
}

/** What charts and figures show of a step, or of the last minute as one long step. */
export type Period = Omit<HistoryPoint, 'seq' | 't' | 'values'>;

/** The last minute: sums, and of each percentile the value of its definition. JVM values are those of the last step. */
export function sumUpMinute(points: readonly HistoryPoint[], stepSeconds: number): Period {
  const last = points.at(-1);
  const { heapUsed = null, heapAfterGc = null, busyThreads = null, cores = null, sessions = 0 } = last ?? {};
  // Without those of a process long before.
  const steps = points.slice(-Math.round(MINUTE_S / stepSeconds)).filter(({ t }) => t > (last?.t ?? 0) - 2 * MINUTE_S);
  return {
    seconds: sumOf(steps, ({ seconds }) => seconds),
    rpc: sumUpCalls(steps.map(({ rpc }) => rpc)),
    sba: sumUpCalls(steps.map(({ sba }) => sba)),
    aborted: sumOf(steps, ({ aborted }) => aborted),
    unanswered: sumOf(steps, ({ unanswered }) => unanswered),
    gcPauseMs: steps.some(({ gcPauseMs }) => gcPauseMs !== null) ? sumOf(steps, (step) => step.gcPauseMs ?? 0) : null,
    ...{ heapUsed, heapAfterGc, busyThreads, cores, sessions },
    times: {
      ended: sumOf(steps, ({ times }) => times.ended),
      durationS: sumOf(steps, ({ times }) => times.durationS),
      clientWaitS: sumOf(steps, ({ times }) => times.clientWaitS),
    },
  };
}

/** The minutes of the hour before the last one, oldest first; none if they are too few to know what is usual. */
export function selectUsualMinutes(points: readonly HistoryPoint[], stepSeconds: number): readonly Period[] {
  const size = Math.round(MINUTE_S / stepSeconds);
  const minutes: Period[] = [];
  for (let end = points.length - size; end >= size; end -= size) {
    minutes.unshift(sumUpMinute(points.slice(end - size, end), stepSeconds));
  }
  return minutes.length < MIN_USUAL_MINUTES ? [] : minutes;
}

export type Trend = 'up' | 'down' | 'same';

/** A figure against the median of the hour. Undefined without enough minutes that have it. Less than a fifth is none. */
export function compareWithUsual(
  minute: Period,
  minutes: readonly Period[],
  figure: (period: Period) => number | null,
): { readonly value: number; readonly trend: Trend } | undefined {
  const now = figure(minute);
  const known = minutes.flatMap((each) => figure(each) ?? []).sort((a, b) => a - b);
  const value = known[Math.floor(known.length / 2)];
  if (now === null || value === undefined || known.length < MIN_USUAL_MINUTES) return undefined;
  if (Math.abs(now - value) <= NOISE * Math.max(now, value)) return { value, trend: 'same' };
  return { value, trend: now > value ? 'up' : 'down' };
}

function sumUpCalls(steps: readonly StepCalls[]): StepCalls {
  return {
    count: sumOf(steps, ({ count }) => count),
    errors: sumOf(steps, ({ errors }) => errors),
    p50: weightedMedian(steps),
    p95: greatest(steps.map(({ p95 }) => p95)),
    p99: greatest(steps.map(({ p99 }) => p99)),
  };
}

function sumOf<Step>(steps: readonly Step[], value: (step: Step) => number): number {
  return steps.reduce((total, step) => total + value(step), 0);
}

/** Null before the first step has ended. */
export function perSecond(count: number, { seconds }: Period): number | null {
  return seconds === 0 ? null : count / seconds;
}

export function errorsOf({ rpc, sba }: Period): number {
  return rpc.errors + sba.errors;
}

/** Share of all calls that ended, from 0 to 1. `count` lacks the unanswered calls, which are of all applications. */
export function errorShareOf(period: Period): number {
  const errors = errorsOf(period);
  const calls = period.rpc.count + period.sba.count + Math.min(errors, period.unanswered);
  return errors / Math.max(calls, 1);
}

/** The median of the steps' p50, each weighted by the calls of its step. */
function weightedMedian(steps: readonly StepCalls[]): number | null {
  const sorted = steps
    .flatMap(({ count, p50 }) => (p50 === null ? [] : [{ count, p50 }]))
    .sort((a, b) => a.p50 - b.p50);
  let left = sumOf(sorted, ({ count }) => count) / 2;
  for (const { count, p50 } of sorted) {
    left -= count;
    if (left <= 0) return p50;
  }
  return null;
}

/** Of any number of values; null if none is known. */
export function greatest(values: readonly (number | null | undefined)[]): number | null {
  const known = values.filter((value) => value !== null && value !== undefined);
  return known.length === 0 ? null : known.reduce((a, b) => Math.max(a, b));
}
