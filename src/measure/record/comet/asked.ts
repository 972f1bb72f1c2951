/** Requests of a client in one conversation that the server has not answered yet, except calls. */

import type { MemoryBudget } from '../../../limits/memory-budget.ts';
import type { BayeuxMessage } from '../../../protocol/bayeux/message.ts';
import type { CometClient } from './comet-client.ts';
import type { Handshake } from './registration.ts';

export type Asked =
  | ({ readonly kind: 'handshake' } & Handshake)
  | { readonly kind: 'disconnect'; readonly client: CometClient }
  /** `monitorings`: from the requested channel or name to the object's name. */
  | {
      readonly kind: 'subscribe' | 'unsubscribe';
      readonly client: CometClient;
      readonly monitorings: ReadonlyMap<string, string>;
    };

/** More than any client has pending. Beyond that the oldest is dropped, and its answer has no effect. */
const MAX_ASKED = 1_000;

/** Estimated memory of one request, and of one name in it, without the texts. */
const QUESTION_BYTES = 400;
const NAME_BYTES = 150;

export class AskedTable {
  readonly #memory: MemoryBudget;
  readonly #byKey = new Map<string, { readonly asked: Asked; readonly bytes: number }>();

  /** Charges the kept names to `memory`. */
  constructor(memory: MemoryBudget) {
    this.#memory = memory;
  }

  /** False when a request is lost: this one, for lack of memory, or the oldest. */
  add(message: BayeuxMessage, asked: Asked): boolean {
    const key = toKey(message);
    const bytes = toBytes(key, asked);
    if (!this.#memory.take('names', bytes)) return false;
    this.#delete(key);
    this.#byKey.set(key, { asked, bytes });
    if (this.#byKey.size <= MAX_ASKED) return true;
    const [oldest] = this.#byKey.keys();
    if (oldest !== undefined) this.#delete(oldest);
    return false;
  }

  /** Removes and returns the request that `message` answers, by its channel and id. */
  take(message: BayeuxMessage): Asked | undefined {
    return this.#delete(toKey(message));
  }

  /** Drops all requests, whose answers can no longer come. */
  clear(): void {
    for (const key of this.#byKey.keys()) this.#delete(key);
  }

  #delete(key: string): Asked | undefined {
    const entry = this.#byKey.get(key);
    if (entry === undefined) return undefined;
    this.#byKey.delete(key);
    this.#memory.give('names', entry.bytes);
    return entry.asked;
  }
}

function toBytes(key: string, asked: Asked): number {
  let bytes = QUESTION_BYTES + key.length;
  if (!('monitorings' in asked)) return bytes;
  for (const [said, name] of asked.monitorings) bytes += NAME_BYTES + said.length + name.length;
  return bytes;
}

/** Servers omit the id in the answer if the client did. */
function toKey({ channel, id = '' }: BayeuxMessage): string {
  return `${channel}\n${id}`;
}
