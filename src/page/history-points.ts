/** The last hour of an application, collected by this page from its polls. */
import type { HistoryPoint, StepCalls } from './live-data.ts';

/** An hour of 5 s steps, as many as the sidecar keeps. */
const MAX_POINTS = 720;
const MINUTE_S = 60;

/** Appends the points that are newer than `known`; known points are not repeated. */
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

/** Calls of one kind in the last minute; null: nothing was measured. */
export interface MinuteOfKind {
  readonly errors: number;
  /** Calls per second. */
  readonly rate: number | null;
  /** In seconds. */
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

/** The numbers of the last minute, shared by the figures, the legends and the verdict. */
export interface Minute {
  readonly rpc: MinuteOfKind;
  readonly sba: MinuteOfKind;
  /** Answered calls. */
  readonly calls: number;
  readonly errors: number;
  /** Errors without an answer, which `calls` does not include. */
  readonly unanswered: number;
  readonly aborted: number;
  /** RPC and SBA calls per second; null before the first step has ended. */
  readonly rate: number | null;
  /** Share of the time that collectors took, from 0 to 1; null if no JVM is read. */
  readonly pausedShare: number | null;
  /** Bytes at the last reading. */
  readonly heapUsed: number | null;
  readonly heapAfterGc: number | null;
  /** At the last step, like the heap. */
  readonly busyThreads: number | null;
  readonly cores: number | null;
}

export function toMinute(points: readonly HistoryPoint[], stepSeconds: number): Minute {
  const steps = points.slice(-Math.round(MINUTE_S / stepSeconds));
  const seconds = sumOf(steps, (point) => point.seconds);
  const calls = sumOf(steps, ({ rpc, sba }) => rpc[0] + sba[0]);
  const [rpc, sba] = [toKind(steps, 'rpc', seconds), toKind(steps, 'sba', seconds)];
  const errors = rpc.errors + sba.errors;
  const unanswered = sumOf(steps, (point) => point.unanswered);
  const pauses = steps.flatMap(({ gcPauseMs }) => (gcPauseMs === null ? [] : [gcPauseMs]));
  const last = steps.at(-1);
  return {
    ...{ rpc, sba, calls, errors },
    unanswered: Math.min(errors, unanswered),
    aborted: sumOf(steps, ({ aborted }) => aborted),
    rate: seconds === 0 ? null : calls / seconds,
    pausedShare: pauses.length === 0 ? null : pauses.reduce((total, ms) => total + ms, 0) / (seconds * 1_000),
    heapUsed: last?.heapUsed ?? null,
    heapAfterGc: last?.heapAfterGc ?? null,
    busyThreads: last?.busyThreads ?? null,
    cores: last?.cores ?? null,
  };
}

function toKind(steps: readonly HistoryPoint[], kind: 'rpc' | 'sba', seconds: number): MinuteOfKind {
  return {
    errors: sumOf(steps, (point) => point[kind][1]),
    rate: seconds === 0 ? null : sumOf(steps, (point) => point[kind][0]) / seconds,
    p50: weightedMedian(steps.map((point) => point[kind])),
    p95: greatest(steps.map((point) => point[kind][4])),
    p99: greatest(steps.map((point) => point[kind][3])),
  };
}

function sumOf(steps: readonly HistoryPoint[], value: (point: HistoryPoint) => number): number {
  return steps.reduce((total, point) => total + value(point), 0);
}

/** Share of all calls that ended in the minute, from 0 to 1. */
export function errorShareOf({ calls, errors, unanswered }: Minute): number {
  return errors / Math.max(calls + unanswered, 1);
}

/** The median of the steps' p50, each weighted by the calls of its step. */
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
