import { randomBytes } from 'node:crypto';
import { ATTACKER_LOGIN, OBJECT_PREFIX } from '../plant.ts';

/** A connect is held this long, and then answered with a value of each object that the client monitors. */
const HOLD_MS = 50;
const MAX_CLIENTS = 10_000;

type Message = Record<string, unknown>;

/** The part of the Bayeux protocol that the honest user and the floods need. */
export class Bayeux {
  /** Monitored channels by client id; when there are too many, the oldest client is evicted. */
  readonly #clients = new Map<string, Set<string>>();

  /** Sends the answers as JSON, at once or after the hold. */
  answer(text: string, isKnown: boolean, send: (json: string) => void): void {
    const messages = parse(text);
    const answer = () => send(JSON.stringify(messages.flatMap((message) => this.#reply(message, isKnown))));
    if (messages.some(({ channel }) => channel === '/meta/connect')) setTimeout(answer, HOLD_MS);
    else answer();
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
      const channels = [subscription].flat().map(String);
      for (const each of channels) if (each.startsWith(OBJECT_PREFIX)) monitored.add(each);
    }
    if (channel === '/meta/disconnect') this.#clients.delete(String(clientId));
    return [{ ...reply, clientId, subscription, successful: true }];
  }

  #handshake({ ext }: Message, isKnown: boolean): Message {
    const login = (ext as { authentication?: Message } | undefined)?.authentication;
    const isLogin = login?.user === ATTACKER_LOGIN.user && login.credentials === ATTACKER_LOGIN.credentials;
    if (!isKnown && !isLogin) return { successful: false, error: '403::denied', advice: { reconnect: 'none' } };
    const clientId = randomBytes(12).toString('hex');
    this.#clients.set(clientId, new Set());
    const [oldest] = this.#clients.keys();
    if (this.#clients.size > MAX_CLIENTS && oldest !== undefined) this.#clients.delete(oldest);
    const advice = { reconnect: 'retry', interval: 0, timeout: 30_000 };
    const supportedConnectionTypes = ['long-polling', 'websocket'];
    return { clientId, successful: true, version: '1.0', advice, supportedConnectionTypes };
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
