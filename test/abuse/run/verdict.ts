/** The bounds that a flood must not exceed. */
import type { Flood } from '../floods/flood.ts';
import { CALM, FLOOD } from '../plant.ts';
import type { CallSummary } from '../users/call-log.ts';
import type { FloodResult } from './abuse-run.ts';

/** As in the manifests for Kubernetes. In a cgroup, the kernel enforces it. */
export const MEMORY_BYTES = 512 * 1024 * 1024;
const P50_TIMES = 3;
const P50_PLUS_MS = 25;
const WORST_PLUS_MS = 200;
/**
 * Delays beside a short flood may be this many times longer: most of it is the first burst, in which calls queue, and
 * the machines of CI are three times slower for minutes. A call that waits for seconds is still noticed.
 */
const SHORT_TIMES = 8;

const NO_CALLS: CallSummary = { count: 0, failed: 0, p50Ms: 0, worstMs: 0 };

export function callsOf({ users }: FloodResult, kind: string, phase: string): CallSummary {
  return users.calls[kind]?.[phase] ?? NO_CALLS;
}

/** In all phases: no call may fail before or after a flood either. */
export function failedOf({ users }: FloodResult, kind: string): number {
  return Object.values(users.calls[kind] ?? {}).reduce((sum, one) => sum + one.failed, 0);
}

/** By how much direct calls, or the users' own event loop, were slower than in calm: not the sidecar's delay. */
function foreignDelayMs(result: FloodResult, figure: 'p50Ms' | 'worstMs'): number {
  const delay = (kind: string) => callsOf(result, kind, FLOOD)[figure] - callsOf(result, kind, CALM)[figure];
  return Math.max(0, delay('upstream'), delay('users'));
}

/** The missed bounds, e.g. `worst call`; empty is good. */
export function missedBounds(flood: Flood, result: FloodResult): string[] {
  const missed: string[] = [];
  const { lastWords, countedValues, sessions, users } = result;
  if (lastWords !== undefined) missed.push('ended');
  for (const kind of ['calls', ...(flood.setting === 'monitor' ? ['monitor'] : [])]) {
    const moreMs = kind === 'monitor' ? (flood.monitorWaitMs ?? 0) : 0;
    missed.push(...missedBySlowness(kind, result, (flood.worstPlusMs ?? WORST_PLUS_MS) + moreMs));
  }
  if (failedOf(result, 'comet') > 0) missed.push(`${failedOf(result, 'comet')} comet failed`);
  const grownBytes = result.peakBytes - result.startBytes;
  if (result.peakBytes > MEMORY_BYTES) missed.push('512 MiB');
  if (grownBytes > (flood.maxGrowthBytes ?? Number.POSITIVE_INFINITY)) missed.push('memory');
  if (lastWords === undefined && result.overAfterMs === undefined) missed.push(`${result.leftOpen} left open`);
  if (lastWords === undefined && countedValues !== users.values) missed.push('values');
  if ((sessions ?? 0) > (flood.maxSessions ?? Number.POSITIVE_INFINITY)) missed.push(`${sessions} sessions`);
  return missed;
}

function missedBySlowness(kind: string, result: FloodResult, worstPlusMs: number): string[] {
  const calm = callsOf(result, kind, CALM);
  const during = callsOf(result, kind, FLOOD);
  const failed = failedOf(result, kind);
  const missed: string[] = [];
  if (failed > 0) missed.push(`${failed} ${kind} failed`);
  if (during.count === 0) missed.push(`no ${kind}`);
  const times = result.isShort ? SHORT_TIMES : 1;
  const maxP50Ms = P50_TIMES * calm.p50Ms + times * P50_PLUS_MS + foreignDelayMs(result, 'p50Ms');
  const maxWorstMs = calm.worstMs + times * worstPlusMs + foreignDelayMs(result, 'worstMs') + result.lostMs;
  if (during.p50Ms > maxP50Ms) missed.push(`p50 of ${kind}`);
  if (during.worstMs > maxWorstMs) missed.push(`worst of ${kind}`);
  return missed;
}
