/** The condition of everything around the calls, as plain sentences. */
import { toCount, toPercent, toSpan, toTime } from './format.ts';
import type { Jvm, Live, Upstream } from './live-data.ts';
import { isLeaving } from './verdict.ts';

export type Tone = 'good' | 'info' | 'warn' | 'bad';

export interface Sentence {
  readonly tone: Tone;
  readonly text: string;
}

/** Beyond that share, the slower path is worth a word. */
const GATEWAY_SHARE = 0.25;

/** What has stood in the way of a connection, by the code that the system gave, or the sidecar (docs/errors.md). */
const UNREACHABLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The upstream has refused connections',
  ECONNRESET: 'The upstream has reset connections',
  ETIMEDOUT: 'The upstream has not answered in time',
  D2S_ERR_UPSTREAM_CONNECT_TIMEOUT: 'The upstream has not accepted connections in time',
  EHOSTUNREACH: 'There has been no route to the upstream',
  ENETUNREACH: 'There has been no route to the upstream',
  ENOTFOUND: 'No address has been found for the name of the upstream',
  EAI_AGAIN: 'No address has been found for the name of the upstream',
  EAI_FAIL: 'No address has been found for the name of the upstream',
  EAI_NODATA: 'No address has been found for the name of the upstream',
};

export function toSentences(live: Live, nowMs: number): readonly Sentence[] {
  return [
    ...toLifecycle(live),
    toUpstream(live.upstream, nowMs),
    toJvm(live.jvm, nowMs),
    ...live.limits.map(({ key, hits }): Sentence => ({ tone: 'warn', text: toLimit(key, hits) })),
    ...live.failures.map(({ code, count }): Sentence => ({ tone: 'warn', text: toFailure(code, count) })),
    ...toOwnFaults(live),
  ];
}

function toLifecycle(live: Live): Sentence[] {
  if (!isLeaving(live)) {
    return live.state === 'serving' ? [] : [{ tone: 'info', text: `The sidecar is ${live.state}.` }];
  }
  const left = live.stopLeftSeconds === null ? '' : `; it stops in ${toSpan(live.stopLeftSeconds)} at the latest`;
  return [{ tone: 'warn', text: `The sidecar is draining: it serves on, and asks clients to leave${left}.` }];
}

export function toUpstream({ state, since, reason }: Upstream, nowMs: number): Sentence {
  const time = since === null ? '' : ` since ${toTime(Date.parse(since), nowMs)}`;
  if (state === 'reachable') return { tone: 'good', text: `The upstream has answered${time}.` };
  if (state === 'unknown') {
    return { tone: 'info', text: 'The upstream has not been tried yet: no call has needed it.' };
  }
  const what = UNREACHABLE[reason ?? ''] ?? 'The upstream could not be reached';
  return { tone: 'bad', text: `${what}${time}${reason === null ? '' : ` (${reason})`}.` };
}

export function toJvm({ state, source, since, reason }: Jvm, nowMs: number): Sentence {
  if (state === 'none') return { tone: 'info', text: 'No JVM source is configured.' };
  if (state === 'available') {
    return { tone: 'good', text: `The JVM is read${source === null ? '' : ` from ${source}`}.` };
  }
  const time = since === null ? '' : ` since ${toTime(Date.parse(since), nowMs)}`;
  return { tone: 'bad', text: `The JVM has not been readable${time}${reason === null ? '' : `: ${withStop(reason)}`}` };
}

function toLimit(key: string, hits: number): string {
  return `Limit ${key} was reached ${hits === 1 ? 'once' : `${toCount(hits)} times`}.`;
}

function toFailure(code: string, count: number): string {
  return `${toCount(count)} ${count === 1 ? 'exchange has' : 'exchanges have'} failed with ${code} since the start.`;
}

function toOwnFaults({ connections, observerErrors, gatewayShare }: Live): Sentence[] {
  const sentences: Sentence[] = [];
  if (connections.refused > 0) {
    const were = connections.refused === 1 ? 'connection was' : 'connections were';
    sentences.push({ tone: 'warn', text: `${toCount(connections.refused)} ${were} refused at a limit.` });
  }
  if (observerErrors > 0) {
    const were = observerErrors === 1 ? 'exchange was' : 'exchanges were';
    const text = `${toCount(observerErrors)} ${were} not measured because of a fault in the sidecar; they passed all the same.`;
    sentences.push({ tone: 'warn', text });
  }
  if (gatewayShare >= GATEWAY_SHARE) {
    const text = `${toPercent(gatewayShare)} of the exchanges took the gateway, which costs more than the relay.`;
    sentences.push({ tone: 'info', text });
  }
  return sentences;
}

function withStop(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}
