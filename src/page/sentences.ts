/** The state of the upstream, the JVM and the sidecar as sentences: of the last minute, or since a time. */
import { formatCount, formatSpan } from '../base/figures.ts';
import { formatTime } from './format.ts';
import type { Jvm, Live, OwnCertificate, RecentCount, Upstream } from './live-data.ts';

export type Tone = 'good' | 'info' | 'warn' | 'bad';

export interface Sentence {
  readonly tone: Tone;
  readonly text: string;
}

export function isLeaving({ state, stopLeftSeconds }: Live): boolean {
  return state === 'draining' || state === 'stopping' || stopLeftSeconds !== null;
}

export function describeSituation(live: Live, nowMs: number): readonly Sentence[] {
  const start = formatTime(Date.parse(live.startTime), nowMs);
  return [
    ...describeLifecycle(live),
    describeUpstream(live.upstream, nowMs),
    describeJvm(live.jvm, nowMs),
    ...live.certificates.flatMap(describeCertificate),
    ...live.limits.flatMap(({ key, ...count }) => describeReached(key, count, start)),
    ...live.failures.flatMap(({ code, ...count }) =>
      describeRecent(count, start, (failed) => describeFailure(code, failed)),
    ),
    ...describeOwnFaults(live, start),
  ];
}

function describeLifecycle(live: Live): Sentence[] {
  if (!isLeaving(live)) {
    return live.state === 'serving' ? [] : [{ tone: 'info', text: `The sidecar is ${live.state}.` }];
  }
  const left = live.stopLeftSeconds === null ? '' : `; it stops in ${formatSpan(live.stopLeftSeconds)} at the latest`;
  return [{ tone: 'warn', text: `The sidecar is draining: it keeps serving, and asks clients to leave${left}.` }];
}

export function describeUpstream({ state, since, reason, tlsFault }: Upstream, nowMs: number): Sentence {
  const time = since === null ? '' : ` since ${formatTime(Date.parse(since), nowMs)}`;
  if (state === 'reachable') return { tone: 'good', text: `The upstream has accepted connections${time}.` };
  if (state === 'unknown') {
    return { tone: 'info', text: 'The upstream has not been tried yet: no call has needed it.' };
  }
  if (tlsFault !== null)
    return { tone: 'bad', text: `TLS with the upstream has failed${time}: ${tlsFault} (${reason}).` };
  return {
    tone: 'bad',
    text: `No connection to the upstream has opened${time}${reason === null ? '' : ` (${reason})`}.`,
  };
}

function describeCertificate({ section, days, warning }: OwnCertificate): Sentence[] {
  if (warning === null) return [];
  return [{ tone: days < 0 ? 'bad' : 'warn', text: `The certificate of the sidecar in ${section}: ${warning}.` }];
}

export function describeJvm({ state, source, since, reason }: Jvm, nowMs: number): Sentence {
  if (state === 'none') return { tone: 'info', text: 'No JVM source is configured.' };
  const time = since === null ? '' : ` since ${formatTime(Date.parse(since), nowMs)}`;
  if (state === 'available') {
    return { tone: 'good', text: `The JVM has been read${source === null ? '' : ` from ${source}`}${time}.` };
  }
  return { tone: 'bad', text: `The JVM has not been readable${time}${reason === null ? '' : `: ${withStop(reason)}`}` };
}

/** Refusals by rest.deny are intended: no warning. */
function describeReached(key: string, count: RecentCount, start: string): Sentence[] {
  if (key !== 'rest.deny') return describeRecent(count, start, (hits) => describeLimit(key, hits));
  const toText = (hits: number) =>
    `${formatCounted(hits, 'request')} ${hits === 1 ? 'was' : 'were'} denied by rest.deny`;
  return describeRecent(count, start, toText, 'info');
}

/** A warning (or `tone`) if it happened in the last minute. Older events are information, with their start time. */
function describeRecent(
  { sinceStart, inMinute }: RecentCount,
  start: string,
  toText: (count: number) => string,
  tone: 'warn' | 'info' = 'warn',
): Sentence[] {
  if (inMinute > 0) return [{ tone, text: `${toText(inMinute)} in the last minute.` }];
  if (sinceStart === 0) return [];
  return [{ tone: 'info', text: `${toText(sinceStart)} since ${start}, but not in the last minute.` }];
}

function describeLimit(key: string, hits: number): string {
  return `Limit ${key} was reached ${hits === 1 ? 'once' : `${formatCount(hits)} times`}`;
}

function describeFailure(code: string, count: number): string {
  return `${formatCounted(count, 'exchange')} failed with ${code}`;
}

function describeOwnFaults({ refusedConnections, observerErrors }: Live, start: string): Sentence[] {
  return [
    ...describeRecent(
      refusedConnections,
      start,
      (count) => `${formatCounted(count, 'connection')} ${count === 1 ? 'was' : 'were'} refused at a limit`,
    ),
    ...describeRecent(
      observerErrors,
      start,
      (count) => `A fault in the sidecar left ${formatCounted(count, 'exchange')} served but unmeasured`,
    ),
  ];
}

/** E.g. `1 request`, `5 requests`. */
export function formatCounted(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

function withStop(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}
