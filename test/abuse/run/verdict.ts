import type { Flood } from '../floods/flood.ts';
import { CALM, FLOOD } from '../plant.ts';
import type { CallSummary } from '../users/crowd.ts';
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

const callsOf = ({ users }: FloodResult, kind: string, phase: string) => users.calls[`${kind} ${phase}`] ?? NO_CALLS;

/** What a flood cost the others, e.g. `calls 1.1, 8 -> 20, 90 ms; 81 -> 97 MB`: median and worst in calm and in the flood. */
export function describe(result: FloodResult): string {
  const times = ['calls', 'monitor', 'relayed'].flatMap((kind) => {
    const [calm, during] = [CALM, FLOOD].map((phase) => callsOf(result, kind, phase));
    if (during === undefined || during.count === 0) return [];
    return [`${kind} ${toFigures(calm)} -> ${toFigures({ ...during, p50Ms: p50Of(result, during) })} ms`];
  });
  const memory = `${(result.startBytes / 1e6).toFixed(0)} -> ${(result.peakBytes / 1e6).toFixed(0)} MB`;
  const sent = `${result.cost.connections} connections, ${(result.cost.bytes / 1e6).toFixed(1)} MB sent`;
  return [...times, memory, sent, ...new Set(result.users.failures)].join('; ');
}

function toFigures({ p50Ms, worstMs } = NO_CALLS): string {
  return [p50Ms, worstMs].map((ms) => ms.toFixed(ms < 10 ? 1 : 0)).join(', ');
}

/** The missed bounds with both figures, e.g. `worst of calls 900 ms, at most 205`; empty is good. */
export function missedBounds(flood: Flood, result: FloodResult): string[] {
  const missed: string[] = [];
  const { lastWords, countedValues, sessions, users, peakBytes, startBytes } = result;
  const atMost = (what: string, value: number, most = Number.POSITIVE_INFINITY) => {
    if (value > most) missed.push(`${what} ${Math.round(value)}, at most ${Math.round(most)}`);
  };
  // In all phases: no call may fail before or after a flood either.
  const failed = (kind: string) =>
    Object.entries(users.calls).reduce((sum, [key, calls]) => sum + (key.startsWith(`${kind} `) ? calls.failed : 0), 0);
  if (lastWords !== undefined) missed.push(`ended: ${lastWords.slice(0, 300)}`);
  for (const kind of ['calls', ...(flood.setting === 'monitor' ? ['monitor'] : [])]) {
    const during = callsOf(result, kind, FLOOD);
    if (during.count === 0) missed.push(`no ${kind}`);
    atMost(`failed ${kind}`, failed(kind), 0);
    atMost(`p50 of ${kind}, ms:`, p50Of(result, during), maxP50Ms(kind, flood, result));
    atMost(`worst of ${kind}, ms:`, during.worstMs, maxWorstMs(kind, flood, result));
  }
  atMost('failed comet', failed('comet'), 0);
  atMost('bytes of memory', peakBytes, MEMORY_BYTES);
  atMost('growth of memory, bytes:', peakBytes - startBytes, flood.maxGrowthBytes);
  if (lastWords === undefined && !result.isOver) missed.push(`${result.leftOpen} left open`);
  if (lastWords === undefined && countedValues !== users.values)
    missed.push(`counted values ${countedValues}, received ${users.values}`);
  atMost('sessions', sessions ?? 0, flood.maxSessions);
  if (result.hasLateName === false) missed.push('a new name has no metric');
  return missed;
}

/** Half of a short flood may be its first burst. */
function p50Of({ isShort }: FloodResult, { steadyMs, p50Ms }: CallSummary): number {
  return isShort ? steadyMs : p50Ms;
}

function maxP50Ms(kind: string, flood: Flood, result: FloodResult): number {
  const { worstPlusMs = WORST_PLUS_MS } = flood;
  // A flood that delays some calls for longer also has a longer burst, which may be all of a short flood.
  const plusMs = (result.isShort ? worstPlusMs : P50_PLUS_MS) + waitMs(kind, flood);
  return P50_TIMES * callsOf(result, kind, CALM).p50Ms + shared(plusMs, result) + foreignDelayMs(result, 'p50Ms');
}

function maxWorstMs(kind: string, flood: Flood, result: FloodResult): number {
  const { worstPlusMs = WORST_PLUS_MS } = flood;
  const plusMs = (result.isShort ? SHORT_TIMES : 1) * (worstPlusMs + waitMs(kind, flood));
  const allowedMs = shared(plusMs, result) + foreignDelayMs(result, 'worstMs') + result.lostMs;
  return callsOf(result, kind, CALM).worstMs + allowedMs;
}

function waitMs(kind: string, { monitorWaitMs = 0 }: Flood): number {
  return kind === 'monitor' ? monitorWaitMs : 0;
}

/** A machine that other programs share has more time for the same work. */
function shared(ms: number, { lostMs }: FloodResult): number {
  return ms / (1 - Math.min(lostMs, MOST_LOST_MS) / 1_000);
}

/** By how much calls through a plain relay, or the users' own event loop, were slower than in calm: not the sidecar's delay. */
function foreignDelayMs(result: FloodResult, figure: 'p50Ms' | 'worstMs'): number {
  const delay = (kind: string) => callsOf(result, kind, FLOOD)[figure] - callsOf(result, kind, CALM)[figure];
  return Math.max(0, delay('relayed'), delay('users'));
}
