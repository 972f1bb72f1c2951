/** One Bayeux client, and what it waits for: its calls, and the other requests of its conversation. */

import type { ReplyRule } from '../../config/rules/comet-rules.ts';
import type { MemoryBudget } from '../../limits/memory-budget.ts';
import type { BayeuxMessage } from '../../protocol/bayeux/message.ts';
import type { UpstreamFailureCode } from '../../proxy/exchange/upstream-failure.ts';
import type { SavedFields } from '../../state/saved-record.ts';
import { type ClassifiedMessage, readReplyId } from '../classify/comet-classifier.ts';
import type { CallSession, EndedCall } from '../record/call-observer.ts';
import type { RunningCall, RunningCalls } from '../record/running-calls.ts';
import type { Session } from '../sessions/session.ts';

/** One `clientId`: usually one browser tab. Only `BayeuxClients` changes it. */
export class BayeuxClient {
  /** Keyed hash of its `clientId`. */
  readonly token: string;
  readonly calls: PendingCalls;
  /** The monitored objects: from the requested channel or name to the object's name. */
  readonly monitorings = new Map<string, string>();
  /** Undefined until the server's answer confirms the client, and when the session table was full. */
  session: Session | undefined;
  /** Its open WebSockets and its holds. */
  connections = 0;
  /** When its last connection closed; infinity while it has one. */
  goneSinceNs: number;
  /** The server's answer has confirmed it. */
  isKnown = false;
  /** The server offered WebSocket, or the client used it. */
  couldUseWebSocket = false;
  hasFallenBack = false;
  /** The wait before the next connect that the server advises. */
  adviceIntervalMs = 0;
  /** When its last connect was answered; 0 before the first answer. */
  lastConnectedNs = 0;

  constructor(token: string, calls: PendingCalls, atNs: number) {
    this.token = token;
    this.calls = calls;
    this.goneSinceNs = atNs;
  }

  /** For the state file. A restart interrupts pending calls and connects, so they are not saved. */
  save(): SavedFields {
    const { token, couldUseWebSocket, hasFallenBack, adviceIntervalMs, goneSinceNs } = this;
    const monitorings = Array.from(this.monitorings, ([key, name]) => ({ key, name }));
    return { token, couldUseWebSocket, hasFallenBack, adviceIntervalMs, goneSinceNs, monitorings };
  }
}

/** The exchange or WebSocket that a call came over; shared by all its calls. */
export interface CallSource {
  readonly application: string;
  /** A copy of the exchange's `traceparent`, if an observer wants it. */
  readonly traceparent: string | undefined;
  /** The client left before it took the response, or the WebSocket is closed. The answer may still come elsewhere. */
  isClosed: boolean;
}

export interface PendingCall extends RunningCall {
  readonly call: Extract<ClassifiedMessage, { action: 'call' }>;
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

/** Memory of a call, without its texts. */
const CALL_BYTES = 500;
/** Memory of a client with its first call. The server may not know the client: then it is in no table. */
const CLIENT_BYTES = 1_500;

/** The calls of one client that wait for answers. They are found by the answer's channel and id. */
export class PendingCalls {
  readonly #max: number;
  readonly #memory: MemoryBudget;
  readonly #running: RunningCalls;
  /** By the channel of the answer, the rule that matches it (usually one), and the id, oldest first. */
  readonly #byChannel = new Map<string, Map<ReplyRule, Map<string, PendingCall>>>();
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
    const { channel, id, call } = pending;
    const byRule = this.#byChannel.get(channel) ?? new Map<ReplyRule, Map<string, PendingCall>>();
    const calls = byRule.get(call.reply) ?? new Map<string, PendingCall>();
    if (calls.has(id) || !this.#memory.take('names', this.#bytesOf(pending))) return false;
    this.#byChannel.set(channel, byRule.set(call.reply, calls.set(id, pending)));
    this.#running.add(pending);
    this.size += 1;
    return true;
  }

  /** The call that `message` answers or acknowledges. It stays pending until `take`. */
  find(message: BayeuxMessage): PendingCall | undefined {
    if (this.size === 0) return undefined;
    for (const [reply, calls] of this.#byChannel.get(message.channel) ?? []) {
      const id = readReplyId(reply, message);
      const pending = id === undefined ? undefined : calls.get(id);
      if (pending !== undefined) return pending;
    }
    return undefined;
  }

  /** Removes a call; false if it was removed already. */
  take(pending: PendingCall): boolean {
    const { channel, id, call } = pending;
    const byRule = this.#byChannel.get(channel);
    const calls = byRule?.get(call.reply);
    if (calls?.get(id) !== pending) return false;
    calls.delete(id);
    this.#running.delete(pending);
    this.size -= 1;
    this.#memory.giveBack('names', this.#bytesOf(pending));
    // The default rules have few channels, but a rule may match any number.
    if (calls.size === 0) byRule?.delete(call.reply);
    if (byRule?.size === 0) this.#byChannel.delete(channel);
    return true;
  }

  /** Removes and returns the calls that `isWanted` accepts. */
  takeAll(isWanted: (pending: PendingCall) => boolean = () => true): PendingCall[] {
    const taken: PendingCall[] = [];
    for (const byRule of this.#byChannel.values()) {
      for (const calls of byRule.values()) taken.push(...[...calls.values()].filter(isWanted));
    }
    for (const pending of taken) this.take(pending);
    return taken;
  }

  /** Its memory while there are `size` other calls. */
  #bytesOf({ call, id, channel }: PendingCall): number {
    const ofClient = this.size === 0 ? CLIENT_BYTES : 0;
    return ofClient + CALL_BYTES + call.name.length + id.length + channel.length;
  }
}

export function describeEndedCall(
  { call, beganNs, source, remoteAddress }: PendingCall,
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
    remoteAddress,
    session,
    traceparent: source.traceparent,
    ownTraceparent: undefined,
  };
}

/** A handshake that the client has requested. `Registration.handshaken` takes it when the server accepts. */
export interface Handshake {
  readonly userName: string | null;
  readonly offersWebSocket: boolean;
  readonly requestedNs: number;
}

export type PendingRequest =
  | ({ readonly kind: 'handshake' } & Handshake)
  | { readonly kind: 'disconnect'; readonly client: BayeuxClient }
  /** `monitorings`: from the requested channel or name to the object's name. */
  | {
      readonly kind: 'subscribe' | 'unsubscribe';
      readonly client: BayeuxClient;
      readonly monitorings: ReadonlyMap<string, string>;
    };

/** More than any client has pending. Beyond this limit the oldest is dropped, and its answer has no effect. */
const MAX_REQUESTS = 1_000;

/** Memory of one request with its client, which may be in no table, and of one name in it, without the texts. */
const REQUEST_BYTES = 1_200;
const NAME_BYTES = 150;

/** Requests of one conversation, other than calls, that the server has not answered yet. */
export class PendingRequests {
  readonly #memory: MemoryBudget;
  readonly #byKey = new Map<string, { readonly request: PendingRequest; readonly bytes: number }>();

  /** Charges the kept names to `memory`. */
  constructor(memory: MemoryBudget) {
    this.#memory = memory;
  }

  /** False if a request was dropped: this one, for lack of memory, or the oldest. */
  add(message: BayeuxMessage, request: PendingRequest): boolean {
    const key = keyOf(message);
    const bytes = requestBytes(key, request);
    if (!this.#memory.take('names', bytes)) return false;
    this.#delete(key);
    this.#byKey.set(key, { request, bytes });
    if (this.#byKey.size <= MAX_REQUESTS) return true;
    const [oldest] = this.#byKey.keys();
    if (oldest !== undefined) this.#delete(oldest);
    return false;
  }

  /** Removes and returns the request that `message` answers, by its channel and id. */
  take(message: BayeuxMessage): PendingRequest | undefined {
    return this.#delete(keyOf(message));
  }

  /** Drops all requests, whose answers can no longer come. */
  clear(): void {
    for (const key of this.#byKey.keys()) this.#delete(key);
  }

  #delete(key: string): PendingRequest | undefined {
    const entry = this.#byKey.get(key);
    if (entry === undefined) return undefined;
    this.#byKey.delete(key);
    this.#memory.giveBack('names', entry.bytes);
    return entry.request;
  }
}

function requestBytes(key: string, request: PendingRequest): number {
  let bytes = REQUEST_BYTES + key.length;
  if (!('monitorings' in request)) return bytes;
  for (const [key, name] of request.monitorings) bytes += NAME_BYTES + key.length + name.length;
  return bytes;
}

/** Servers omit the id in the answer if the client did. */
function keyOf({ channel, id = '' }: BayeuxMessage): string {
  return `${channel}\n${id}`;
}
