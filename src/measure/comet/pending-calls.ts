/** The calls of one Comet client that wait for answers. They are found by the answer's channel and id. */

import type { ReplyRule } from '../../config/rules/comet-rules.ts';
import type { MemoryBudget } from '../../limits/memory-budget.ts';
import type { BayeuxMessage } from '../../protocol/bayeux/message.ts';
import type { UpstreamFailureCode } from '../../proxy/exchange/upstream-failure.ts';
import { type ClassifiedMessage, readReplyId } from '../classify/comet-classifier.ts';
import type { CallSession, EndedCall } from '../record/call-observer.ts';
import type { RunningCall, RunningCalls } from '../record/running-calls.ts';
import type { ConnectionType, Session } from '../sessions/session.ts';

export type CometCall = Extract<ClassifiedMessage, { action: 'call' }>;

/** The exchange or WebSocket that a call came over; shared by all its calls. */
export interface CallSource {
  readonly connectionType: ConnectionType;
  readonly application: string;
  readonly remoteAddress: string;
  /** A copy of the exchange's `traceparent`, if an observer wants it. */
  readonly traceparent: string | undefined;
  /** The client left before it took the response, or the WebSocket is closed. The answer may still come elsewhere. */
  isClosed: boolean;
}

export interface PendingCall extends RunningCall {
  readonly call: CometCall;
  readonly source: CallSource;
  /** The channel of the answer. */
  readonly channel: string;
  readonly id: string;
  readonly beganNs: number;
  /** The session that counted its beginning. */
  readonly session: Session | undefined;
  /** When it was acknowledged without data; 0 until then. */
  ackedNs: number;
}

/** How a call ended, as `CallStatistics` counts it. */
export type CallResult =
  | { readonly kind: 'answered'; readonly status: number }
  /** Answered with an error that any client can provoke, so it creates no name. `status`: 400 to 499. */
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'failed'; readonly code: UpstreamFailureCode }
  | { readonly kind: 'aborted' };

/** Calls whose answers are matched by the same rule. */
interface RuleCalls {
  readonly reply: ReplyRule;
  /** By id, oldest first. */
  readonly calls: Map<string, PendingCall>;
}

/** Memory of a call, without its texts. */
const CALL_BYTES = 500;
/** Memory of a client with its first call. The server may not know the client: then it is in no table. */
const CLIENT_BYTES = 1_500;

export class PendingCalls {
  readonly #max: number;
  readonly #memory: MemoryBudget;
  readonly #running: RunningCalls;
  /** By the channel of the answer; usually one entry each. */
  readonly #byChannel = new Map<string, RuleCalls[]>();
  size = 0;

  /** Charges its calls to `memory`; `running` lists the calls of all clients. */
  constructor(max: number, memory: MemoryBudget, running: RunningCalls) {
    this.#max = max;
    this.#memory = memory;
    this.#running = running;
  }

  /** False when there are too many, there is no memory for it, or another call waits for the same answer. */
  add(pending: PendingCall): boolean {
    if (this.size >= this.#max) return false;
    const { calls } = this.#callsOfRule(pending);
    if (calls.has(pending.id) || !this.#memory.take('names', this.#bytesOf(pending))) return false;
    calls.set(pending.id, pending);
    this.#running.add(pending);
    this.size += 1;
    return true;
  }

  /** The call that `message` answers or acknowledges. It stays pending until `take`. */
  find(message: BayeuxMessage): PendingCall | undefined {
    if (this.size === 0) return undefined;
    for (const { reply, calls } of this.#byChannel.get(message.channel) ?? []) {
      const id = readReplyId(reply, message);
      const pending = id === undefined ? undefined : calls.get(id);
      if (pending !== undefined) return pending;
    }
    return undefined;
  }

  /** Removes a call; false if it was removed already. */
  take(pending: PendingCall): boolean {
    const ofChannel = this.#byChannel.get(pending.channel);
    const ofRule = ofChannel?.find(({ calls }) => calls.get(pending.id) === pending);
    if (ofRule === undefined) return false;
    ofRule.calls.delete(pending.id);
    this.#running.remove(pending);
    this.size -= 1;
    this.#memory.giveBack('names', this.#bytesOf(pending));
    // The default rules have few channels, but a rule may match any number.
    if (ofChannel?.every(({ calls }) => calls.size === 0)) this.#byChannel.delete(pending.channel);
    return true;
  }

  /** Removes calls that were acknowledged `ackWaitNs` ago, or that began `timeoutNs` ago and were not acknowledged. */
  takeExpired(nowNs: number, ackWaitNs: number, timeoutNs: number): PendingCall[] {
    return this.#takeWhere(({ ackedNs, beganNs }) =>
      ackedNs > 0 ? nowNs - ackedNs >= ackWaitNs : nowNs - beganNs >= timeoutNs,
    );
  }

  takeAll(): PendingCall[] {
    return this.#takeWhere(() => true);
  }

  /** Its memory while there are `size` other calls. */
  #bytesOf({ call, id, channel }: PendingCall): number {
    const ofClient = this.size === 0 ? CLIENT_BYTES : 0;
    return ofClient + CALL_BYTES + call.name.length + id.length + channel.length;
  }

  #takeWhere(isWanted: (pending: PendingCall) => boolean): PendingCall[] {
    const taken: PendingCall[] = [];
    for (const ofChannel of this.#byChannel.values()) {
      for (const { calls } of ofChannel) taken.push(...[...calls.values()].filter(isWanted));
    }
    for (const pending of taken) this.take(pending);
    return taken;
  }

  #callsOfRule({ channel, call: { reply } }: PendingCall): RuleCalls {
    const ofChannel = this.#byChannel.get(channel) ?? [];
    this.#byChannel.set(channel, ofChannel);
    const present = ofChannel.find((candidate) => candidate.reply === reply);
    if (present !== undefined) return present;
    const ofRule = { reply, calls: new Map<string, PendingCall>() };
    ofChannel.push(ofRule);
    return ofRule;
  }
}

export function describeEndedCall(
  { call, beganNs, source }: PendingCall,
  result: CallResult,
  endedNs: number,
  session: CallSession | undefined,
): EndedCall {
  const status = 'status' in result ? result.status : 0;
  return {
    kind: call.kind,
    name: call.name,
    application: source.application,
    isComet: true,
    method: undefined,
    status,
    outcome: result.kind === 'refused' ? 'answered' : result.kind,
    errorCode: result.kind === 'failed' ? result.code : undefined,
    beganNs,
    endedNs,
    // The answer is one message.
    firstByteNs: status === 0 ? 0 : endedNs,
    durationNs: endedNs - beganNs,
    clientWaitNs: 0,
    requestBytes: undefined,
    responseBytes: undefined,
    remoteAddress: source.remoteAddress,
    session,
    traceparent: source.traceparent,
    ownTraceparent: undefined,
  };
}
