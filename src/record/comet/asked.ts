/** What a client has asked of the server in one conversation and the server has not answered yet, calls aside. */
import type { BayeuxMessage } from '../../bayeux/message.ts';
import type { CometClient } from './comet-client.ts';
import type { Handshake } from './registration.ts';

export type Asked =
  | ({ readonly kind: 'handshake' } & Handshake)
  | { readonly kind: 'disconnect'; readonly client: CometClient }
  /** `monitorings`: from what was said to the object's name. */
  | {
      readonly kind: 'subscribe' | 'unsubscribe';
      readonly client: CometClient;
      readonly monitorings: ReadonlyMap<string, string>;
    };

/** More than any client has under way. The oldest is given up: its answer changes nothing then. */
const MAX_ASKED = 1_000;

export class AskedTable {
  readonly #byKey = new Map<string, Asked>();

  /** True when the oldest one had to be given up for it. */
  add(message: BayeuxMessage, asked: Asked): boolean {
    this.#byKey.set(toKey(message), asked);
    if (this.#byKey.size <= MAX_ASKED) return false;
    const [oldest] = this.#byKey.keys();
    if (oldest !== undefined) this.#byKey.delete(oldest);
    return true;
  }

  /** What `message` answers, by its channel and its id. */
  take(message: BayeuxMessage): Asked | undefined {
    const key = toKey(message);
    const asked = this.#byKey.get(key);
    this.#byKey.delete(key);
    return asked;
  }
}

/** Servers leave the id out where the client did. */
function toKey({ channel, id = '' }: BayeuxMessage): string {
  return `${channel}\n${id}`;
}
