/** The last hour of an application, as this page has collected it from one poll to the next. */
import type { HistoryPoint, StepCalls } from './live-data.ts';

/** An hour of steps of 5 s, as many as the sidecar keeps. */
const MAX_POINTS = 720;
const MINUTE_S = 60;

/** `known` with what is new behind it; points that were there already are not doubled. */
export function append(known: readonly HistoryPoint[], fresh: readonly HistoryPoint[]): readonly HistoryPoint[] {
  const lastSeq = known.at(-1)?.seq ?? Number.NEGATIVE_INFINITY;
  const added = fresh.filter((point) => point.seq > lastSeq);
  return added.length === 0 ? known : [...known, ...added].slice(-MAX_POINTS);
}

/** Points whose step ended within the last `seconds` before `nowS`. */
export function within(points: readonly HistoryPoint[], nowS: number, seconds: number): readonly HistoryPoint[] {
  const first = points.findIndex((point) => point.t > nowS - seconds);
  return first === -1 ? [] : points.slice(first);
}

/** The last minute in numbers. */
export interface Minute {
  /** Steps of it that were measured; fewer than 12 right after a start. */
  readonly steps: number;
  /** Answered ones. */
  readonly calls: number;
  readonly errors: number;
  /** Errors that are not among the answered calls. */
  readonly unanswered: number;
  readonly aborted: number;
  /** Calls a second, RPC and SBA. */
  readonly rate: number;
  /** Of RPC, in seconds; null without a call. */
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  /** Part of the time in which collectors worked, from 0 to 1; null where no JVM is read. */
  readonly pausedShare: number | null;
}

export function toMinute(points: readonly HistoryPoint[], stepSeconds: number): Minute {
  const steps = points.slice(-Math.round(MINUTE_S / stepSeconds));
  const sum = (value: (point: HistoryPoint) => number) => steps.reduce((total, point) => total + value(point), 0);
  const seconds = sum((point) => point.seconds);
  const calls = sum(({ rpc, sba }) => rpc[0] + sba[0]);
  const errors = sum(({ rpc, sba }) => rpc[1] + sba[1]);
  const pauses = steps.flatMap(({ gcPauseMs }) => (gcPauseMs === null ? [] : [gcPauseMs]));
  return {
    steps: steps.length,
    calls,
    errors,
    unanswered: Math.min(
      errors,
      sum(({ unanswered }) => unanswered),
    ),
    aborted: sum(({ aborted }) => aborted),
    rate: seconds === 0 ? 0 : calls / seconds,
    p50: weightedMedian(steps.map(({ rpc }) => rpc)),
    p95: greatest(steps.map(({ rpc }) => rpc[4])),
    p99: greatest(steps.map(({ rpc }) => rpc[3])),
    pausedShare: pauses.length === 0 ? null : pauses.reduce((total, ms) => total + ms, 0) / (seconds * 1_000),
  };
}

/** From 0 to 1, of all calls that have ended in the minute. */
export function errorShareOf({ calls, errors, unanswered }: Minute): number {
  return errors / Math.max(calls + unanswered, 1);
}

/** The p95 that half of the busy steps stayed below; null with fewer than `atLeast` of them. In seconds. */
export function usualP95(points: readonly HistoryPoint[], atLeast: number): number | null {
  const sorted = points.flatMap(({ rpc }) => (rpc[0] > 0 && rpc[4] !== null ? [rpc[4]] : [])).sort((a, b) => a - b);
  return sorted.length < atLeast ? null : (sorted[Math.floor(sorted.length / 2)] ?? null);
}

/** Of the steps' p50, each as often as its step has calls. */
function weightedMedian(steps: readonly StepCalls[]): number | null {
  const sorted = steps
    .flatMap(([count, , p50]) => (p50 === null ? [] : [{ count, p50 }]))
    .sort((a, b) => a.p50 - b.p50);
  let left = sorted.reduce((sum, { count }) => sum + count, 0) / 2;
  for (const { count, p50 } of sorted) {
    left -= count;
    if (left <= 0) return p50;
  }
  return null;
}

function greatest(values: readonly (number | null)[]): number | null {
  return values.reduce<number | null>(
    (most, value) => (value === null || (most !== null && most >= value) ? most : value),
    null,
  );
}
