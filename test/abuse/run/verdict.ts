import type { Flood } from '../floods/flood.ts';
import { CALM, FLOOD } from '../plant.ts';
import type { CallSummary } from '../users/call-log.ts';
import type { FloodResult } from './abuse-run.ts';

/** As in the manifests for Kubernetes. In a cgroup, the kernel enforces it. */
export const MEMORY_BYTES = 512 * 1024 * 1024;
const P50_TIMES = 3;
const P50_PLUS_MS = 25;
const WORST_PLUS_MS = 200;
/** The slowest call beside a short flood may be this many times slower: most of it is the first burst, in which calls queue. */
const SHORT_TIMES = 8;
/** Of each second. */
const MOST_LOST_MS = 750;

const NO_CALLS: CallSummary = { count: 0, failed: 0, p50Ms: 0, steadyMs: 0, worstMs: 0 };

export function callsOf({ users }: FloodResult, kind: string, phase: string): CallSummary {
  return users.calls[kind]?.[phase] ?? NO_CALLS;
}

/** In all phases: no call may fail before or after a flood either. */
export function failedOf({ users }: FloodResult, kind: string): number {
  return Object.values(users.calls[kind] ?? {}).reduce((sum, one) => sum + one.failed, 0);
}

/** The missed bounds with both figures, e.g. `worst of calls 900 ms, at most 205`; empty is good. */
export function missedBounds(flood: Flood, result: FloodResult): string[] {
  const missed: string[] = [];
  const { lastWords, countedValues, sessions, users, peakBytes } = result;
  const atMost = (what: string, value: number, most: number | undefined, unit = '') => {
    if (most !== undefined && value > most) missed.push(`${what} ${toFigure(value)}${unit}, at most ${toFigure(most)}`);
  };
  if (lastWords !== undefined) missed.push('ended');
  for (const kind of ['calls', ...(flood.setting === 'monitor' ? ['monitor'] : [])]) {
    const during = callsOf(result, kind, FLOOD);
    if (during.count === 0) missed.push(`no ${kind}`);
    atMost(`failed ${kind}`, failedOf(result, kind), 0);
    // Half of a short flood may be its first burst.
    atMost(`p50 of ${kind}`, result.isShort ? during.steadyMs : during.p50Ms, maxP50Ms(kind, flood, result), ' ms');
    atMost(`worst of ${kind}`, during.worstMs, maxWorstMs(kind, flood, result), ' ms');
  }
  atMost('failed comet', failedOf(result, 'comet'), 0);
  atMost('memory', peakBytes / 1e6, MEMORY_BYTES / 1e6, ' MB');
  atMost(
    'growth of memory',
    (peakBytes - result.startBytes) / 1e6,
    flood.maxGrowthBytes && flood.maxGrowthBytes / 1e6,
    ' MB',
  );
  if (lastWords === undefined && result.overAfterMs === undefined) missed.push(`${result.leftOpen} left open`);
  if (lastWords === undefined && countedValues !== users.values)
    missed.push(`counted values ${countedValues}, received ${users.values}`);
  atMost('sessions', sessions ?? 0, flood.maxSessions);
  if (result.hasLateName === false) missed.push('a new name has no metric');
  return missed;
}

function maxP50Ms(kind: string, flood: Flood, result: FloodResult): number {
  // A flood that delays some calls for longer also has a longer burst, which may be all of a short flood.
  const plusMs = result.isShort ? worstPlusMs(flood) : P50_PLUS_MS;
  const allowedMs = machineTimes(result) * (plusMs + waitMs(kind, flood));
  return P50_TIMES * callsOf(result, kind, CALM).p50Ms + allowedMs + foreignDelayMs(result, 'p50Ms');
}

function maxWorstMs(kind: string, flood: Flood, result: FloodResult): number {
  const plusMs = (result.isShort ? SHORT_TIMES : 1) * (worstPlusMs(flood) + waitMs(kind, flood));
  const allowedMs = machineTimes(result) * plusMs;
  return callsOf(result, kind, CALM).worstMs + allowedMs + foreignDelayMs(result, 'worstMs') + result.lostMs;
}

function worstPlusMs(flood: Flood): number {
  return flood.worstPlusMs ?? WORST_PLUS_MS;
}

function waitMs(kind: string, { monitorWaitMs = 0 }: Flood): number {
  return kind === 'monitor' ? monitorWaitMs : 0;
}

/** A slower machine has more time for the same work, and so has one that other programs share. */
function machineTimes({ slowness, lostMs }: FloodResult): number {
  return slowness / (1 - Math.min(lostMs, MOST_LOST_MS) / 1_000);
}

/** By how much calls through a plain relay, or the users' own event loop, were slower than in calm: not the sidecar's delay. */
function foreignDelayMs(result: FloodResult, figure: 'p50Ms' | 'worstMs'): number {
  const delay = (kind: string) => callsOf(result, kind, FLOOD)[figure] - callsOf(result, kind, CALM)[figure];
  return Math.max(0, delay('relayed'), delay('users'));
}

function toFigure(value: number): string {
  return value.toFixed(Number.isInteger(value) ? 0 : 1);
}
