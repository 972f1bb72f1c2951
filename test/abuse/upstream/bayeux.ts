import { randomBytes } from 'node:crypto';
import { ATTACKER_LOGIN, OBJECT_PREFIX } from '../plant.ts';

/** A connect is held this long, and then answered with a value of each object that the client monitors. */
const HOLD_MS = 50;
const MAX_CLIENTS = 10_000;

export type Message = Record<string, unknown>;

export interface BayeuxAnswer {
  readonly delayMs: number;
  /** To be called after the delay. */
  messages(): readonly Message[];
}

/** The part of the Bayeux protocol that the honest user and the floods need. */
export class Bayeux {
  /** Monitored channels by client id; when there are too many, the oldest client is evicted. */
  readonly #clients = new Map<string, Set<string>>();

  answer(text: string, isKnown: boolean): BayeuxAnswer {
    const messages = parse(text);
    const isConnect = messages.some(({ channel }) => channel === '/meta/connect');
    return {
      delayMs: isConnect ? HOLD_MS : 0,
      messages: () => messages.flatMap((message) => this.#reply(message, isKnown)),
    };
  }

  #reply(message: Message, isKnown: boolean): Message[] {
    const { channel, id, clientId, subscription } = message;
    const monitored = this.#clients.get(String(clientId));
    const reply = { channel, ...(id === undefined ? {} : { id }) };
    if (channel === '/meta/handshake') return [{ ...reply, ...this.#handshake(message, isKnown) }];
    if (monitored === undefined) return [{ ...reply, successful: false, error: '402::unknown client' }];
    if (channel === '/meta/connect') {
      const values = [...monitored].map((each) => ({ channel: each, data: { value: 1 } }));
      return [...values, { ...reply, clientId, successful: true }];
    }
    if (channel === '/meta/subscribe') {
      for (const each of [subscription].flat()) {
        if (String(each).startsWith(OBJECT_PREFIX)) monitored.add(String(each));
      }
    }
    if (channel === '/meta/disconnect') this.#clients.delete(String(clientId));
    return [{ ...reply, clientId, subscription, successful: true }];
  }

  #handshake({ ext }: Message, isKnown: boolean): Message {
    const login = (ext as { authentication?: Message } | undefined)?.authentication;
    const { user, credentials } = ATTACKER_LOGIN;
    const isLogin = login?.user === user && login.credentials === credentials;
    if (!isKnown && !isLogin) return { successful: false, error: '403::denied', advice: { reconnect: 'none' } };
    const clientId = randomBytes(12).toString('hex');
    this.#clients.set(clientId, new Set());
    const [oldest] = this.#clients.keys();
    if (this.#clients.size > MAX_CLIENTS && oldest !== undefined) this.#clients.delete(oldest);
    const advice = { reconnect: 'retry', interval: 0, timeout: 30_000 };
    return {
      clientId,
      successful: true,
      version: '1.0',
      advice,
      supportedConnectionTypes: ['long-polling', 'websocket'],
    };
  }
}

function parse(text: string): Message[] {
  try {
    const value: unknown = JSON.parse(text);
    return [value].flat().filter((one) => typeof one === 'object' && one !== null) as Message[];
  } catch {
    return [];
  }
}
