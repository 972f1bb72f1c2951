/** The calls of one Comet client that wait for answers. They are found by the answer's channel and id. */

import type { ReplyRule } from '../../../config/rules/comet-rules.ts';
import type { MemoryBudget } from '../../../limits/memory-budget.ts';
import type { BayeuxMessage } from '../../../protocol/bayeux/message.ts';
import type { DataPath } from '../../../proxy/exchange/exchange.ts';
import type { ClassifiedMessage } from '../../classify/comet-classifier.ts';
import { toReplyId } from '../../classify/comet-reply.ts';
import type { ConnectionType, Session } from '../../sessions/session.ts';
import type { RunningCall, RunningCalls } from '../running-calls.ts';

export type CometCall = Extract<ClassifiedMessage, { action: 'call' }>;

/** Where a call came from: the same for all calls of an exchange or a WebSocket. */
export interface CallOrigin {
  readonly connectionType: ConnectionType;
  readonly application: string;
  readonly path: DataPath;
  readonly remoteAddress: string;
  /** A copy of the exchange's `traceparent`, if an observer wants it. */
  readonly traceparent: string | undefined;
}

export interface PendingCall extends RunningCall {
  readonly call: CometCall;
  readonly origin: CallOrigin;
  /** The channel of the answer. */
  readonly channel: string;
  readonly id: string;
  readonly beganNs: number;
  /** The session that counted its beginning. */
  readonly session: Session | undefined;
  /** When it was acknowledged without data; 0 until then. */
  ackedNs: number;
}

/** Calls whose answers are matched by the same rule. */
interface Waiting {
  readonly reply: ReplyRule;
  /** By id, oldest first. */
  readonly calls: Map<string, PendingCall>;
}

/** Estimated memory of a call, without its texts. */
const CALL_BYTES = 500;

export class PendingCalls {
  readonly #max: number;
  readonly #memory: MemoryBudget;
  readonly #running: RunningCalls;
  /** By the channel of the answer; usually one entry each. */
  readonly #byChannel = new Map<string, Waiting[]>();
  #size = 0;

  /** Charges its calls to `memory`; `running` lists the calls of all clients. */
  constructor(max: number, memory: MemoryBudget, running: RunningCalls) {
    this.#max = max;
    this.#memory = memory;
    this.#running = running;
  }

  get size(): number {
    return this.#size;
  }

  /** False when there are too many, there is no memory for it, or another call waits for the same answer. */
  add(pending: PendingCall): boolean {
    if (this.#size >= this.#max) return false;
    const { calls } = this.#waitingFor(pending);
    if (calls.has(pending.id) || !this.#memory.take('names', toBytes(pending))) return false;
    calls.set(pending.id, pending);
    this.#running.add(pending);
    this.#size += 1;
    return true;
  }

  /** The call that `message` answers or acknowledges. It stays pending until `take`. */
  find(message: BayeuxMessage): PendingCall | undefined {
    if (this.#size === 0) return undefined;
    for (const { reply, calls } of this.#byChannel.get(message.channel) ?? []) {
      const id = toReplyId(reply, message);
      const pending = id === undefined ? undefined : calls.get(id);
      if (pending !== undefined) return pending;
    }
    return undefined;
  }

  /** Removes a call; false if it was removed already. */
  take(pending: PendingCall): boolean {
    const waitings = this.#byChannel.get(pending.channel);
    const waiting = waitings?.find(({ calls }) => calls.get(pending.id) === pending);
    if (waiting === undefined) return false;
    waiting.calls.delete(pending.id);
    this.#running.remove(pending);
    this.#memory.give('names', toBytes(pending));
    this.#size -= 1;
    // The default rules have few channels, but a rule may match any number.
    if (waitings?.every(({ calls }) => calls.size === 0)) this.#byChannel.delete(pending.channel);
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
