/** The calls of one Comet client that wait for their answers, found by the channel of the answer and its id. */

import type { MemoryBudget } from '../../../limits/memory-budget.ts';
import type { BayeuxMessage } from '../../../protocol/bayeux/message.ts';
import type { DataPath } from '../../../proxy/exchange/exchange.ts';
import type { ClassifiedMessage } from '../../classify/comet-classifier.ts';
import { type ReplyRule, toReplyId } from '../../classify/comet-reply.ts';
import type { Session } from '../../sessions/session.ts';

export type CometCall = Extract<ClassifiedMessage, { action: 'call' }>;

/** Where a call came from: the same for all of an exchange, or of a WebSocket. */
export interface CallOrigin {
  readonly application: string;
  readonly path: DataPath;
  readonly remoteAddress: string;
  /** Of the exchange, if somebody wants it; a copy. */
  readonly traceparent: string | undefined;
}

export interface PendingCall {
  readonly call: CometCall;
  readonly origin: CallOrigin;
  /** The channel that its answer comes on. */
  readonly channel: string;
  readonly id: string;
  readonly beganNs: number;
  /** On which it was counted as begun. */
  readonly session: Session | undefined;
  /** When it was acknowledged without data; 0 until then. */
  ackedNs: number;
}

/** Calls whose answers are told in the same way. */
interface Waiting {
  readonly reply: ReplyRule;
  /** By id, in the order of their beginning. */
  readonly calls: Map<string, PendingCall>;
}

/** What a call takes beside its texts. */
const CALL_BYTES = 500;

export class PendingCalls {
  readonly #max: number;
  readonly #memory: MemoryBudget;
  /** By the channel of the answer; as a rule one for each. */
  readonly #byChannel = new Map<string, Waiting[]>();
  #size = 0;

  /** Their names are taken from `memory`. */
  constructor(max: number, memory: MemoryBudget) {
    this.#max = max;
    this.#memory = memory;
  }

  get size(): number {
    return this.#size;
  }

  /** False when there are too many already, no memory for it, or one waits for the very same answer. */
  add(pending: PendingCall): boolean {
    if (this.#size >= this.#max) return false;
    const { calls } = this.#waitingFor(pending);
    if (calls.has(pending.id) || !this.#memory.take('names', toBytes(pending))) return false;
    calls.set(pending.id, pending);
    this.#size += 1;
    return true;
  }

  /** The call that `message` speaks of. It stays among the pending ones until it is taken. */
  find(message: BayeuxMessage): PendingCall | undefined {
    if (this.#size === 0) return undefined;
    for (const { reply, calls } of this.#byChannel.get(message.channel) ?? []) {
      const id = toReplyId(reply, message);
      const pending = id === undefined ? undefined : calls.get(id);
      if (pending !== undefined) return pending;
    }
    return undefined;
  }

  /** False when it has been taken already. */
  take(pending: PendingCall): boolean {
    const waitings = this.#byChannel.get(pending.channel);
    const waiting = waitings?.find(({ calls }) => calls.get(pending.id) === pending);
    if (waiting === undefined) return false;
    waiting.calls.delete(pending.id);
    this.#memory.give('names', toBytes(pending));
    this.#size -= 1;
    // Channels are few by the default rules, but a rule may take any.
    if (waitings?.every(({ calls }) => calls.size === 0)) this.#byChannel.delete(pending.channel);
    return true;
  }

  /** Takes those that were acknowledged `ackWaitNs` ago, or began `timeoutNs` ago without a sign. */
  takeExpired(nowNs: number, ackWaitNs: number, timeoutNs: number): PendingCall[] {
    return this.#takeWhere(({ ackedNs, beganNs }) =>
      ackedNs > 0 ? nowNs - ackedNs >= ackWaitNs : nowNs - beganNs >= timeoutNs,
    );
  }

  takeAll(): PendingCall[] {
    return this.#takeWhere(() => true);
  }

  #takeWhere(isWanted: (pending: PendingCall) => boolean): PendingCall[] {
    const taken: PendingCall[] = [];
    for (const waitings of this.#byChannel.values()) {
      for (const { calls } of waitings) taken.push(...[...calls.values()].filter(isWanted));
    }
    for (const pending of taken) this.take(pending);
    return taken;
  }

  #waitingFor({ channel, call: { reply } }: PendingCall): Waiting {
    let waitings = this.#byChannel.get(channel);
    if (waitings === undefined) {
      waitings = [];
      this.#byChannel.set(channel, waitings);
    }
    let waiting = waitings.find((candidate) => candidate.reply === reply);
    if (waiting === undefined) {
      waiting = { reply, calls: new Map() };
      waitings.push(waiting);
    }
    return waiting;
  }
}

function toBytes({ call, id, channel }: PendingCall): number {
  return CALL_BYTES + call.name.length + id.length + channel.length;
}
