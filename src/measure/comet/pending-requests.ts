/** Requests of one conversation, other than calls (pending-calls.ts), that the server has not answered yet. */

import type { MemoryBudget } from '../../limits/memory-budget.ts';
import type { BayeuxMessage } from '../../protocol/bayeux/message.ts';
import type { BayeuxClient } from './bayeux-client.ts';
import type { Handshake } from './registration.ts';

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
