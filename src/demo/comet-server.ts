/**
 * What the sample control system has for browsers: the form login, and Comet (Bayeux over WebSocket and long-polling).
 * Clients subscribe to objects, get their values pushed, and make calls. A handshake needs a login.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type WebSocket, WebSocketServer } from 'ws';
import { attempt } from '../base/attempt.ts';
import { CALL_CHANNELS, type CometCall, type CometMessage, encodeObjectChannel } from './comet-message.ts';
import { SAMPLE_BROWSERS, SAMPLE_OBJECTS } from './plant.ts';

/** Below the application, as in the servlet specification. */
export const LOGIN_PATH = 'j_security_check';

/** Waits for the duration of a call, and returns its HTTP status. `path` as in plant.ts, e.g. `java/E.Reports/Daily`. */
type Call = (kind: 'rpc' | 'sba', path: string) => Promise<number>;

interface Client {
  readonly id: string;
  readonly user: string;
  readonly channels: Set<string>;
  readonly waiting: CometMessage[];
  socket: WebSocket | undefined;
  answerConnect: () => void;
}

const PUSH_EVERY_MS = 500;
const HOLD_MS = 10_000;
const MAX_WAITING = 100;
const MAX_MESSAGE_BYTES = 65_536;
const CHANGE_SHARE = 0.6;

export class SampleComet {
  readonly #application: string;
  readonly #call: Call;
  /** By the cookie of the session. */
  readonly #users = new Map<string, string>();
  readonly #clients = new Map<string, Client>();
  readonly #webSockets = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES });
  readonly #values = new Map(SAMPLE_OBJECTS.map((name, index) => [name, 20 * (index + 1)]));
  readonly #pushing: NodeJS.Timeout;
  #ids = 0;

  constructor(application: string, call: Call) {
    this.#application = application;
    this.#call = call;
    this.#pushing = setInterval(() => this.#pushValues(), PUSH_EVERY_MS).unref();
  }

  /** The right password gets a cookie, a wrong one 403. */
  async logIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await text(request));
    const user = form.get('j_username');
    if (!SAMPLE_BROWSERS.some((one) => one.user === user && one.password === form.get('j_password'))) {
      response.writeHead(403).end();
      return;
    }
    const cookie = randomBytes(16).toString('hex').toUpperCase();
    this.#users.set(cookie, user as string);
    const path = `/${this.#application}`;
    response.writeHead(303, {
      'set-cookie': `JSESSIONID=${cookie}; Path=${path}; HttpOnly`,
      'content-length': 0,
      location: `${path}/`,
    });
    response.end();
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const messages = parseMessages(await text(request));
    const user = this.#userOf(request);
    const replies = await Promise.all(messages.map((message) => this.#reply(message, user)));
    const client = this.#clients.get(messages[0]?.clientId ?? '');
    const values = messages.some(({ channel }) => channel === '/meta/connect') ? (client?.waiting.splice(0) ?? []) : [];
    response.writeHead(200, { 'content-type': 'application/json;charset=UTF-8' });
    response.end(JSON.stringify([...values, ...replies]));
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const user = this.#userOf(request);
    this.#webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      webSocket.on('message', (json) => {
        for (const message of parseMessages(String(json))) void this.#answer(message, user, webSocket);
      });
      // A close follows.
      webSocket.on('error', () => undefined);
      webSocket.on('close', () => {
        for (const client of this.#clients.values()) if (client.socket === webSocket) this.#end(client);
      });
    });
  }

  #userOf({ headers }: IncomingMessage): string | undefined {
    return this.#users.get(/(?:^|; *)JSESSIONID=([^;]*)/.exec(headers.cookie ?? '')?.[1] ?? '');
  }

  stop(): void {
    clearInterval(this.#pushing);
    for (const client of [...this.#clients.values()]) this.#end(client);
    for (const webSocket of this.#webSockets.clients) webSocket.terminate();
  }

  async #answer(message: CometMessage, user: string | undefined, socket: WebSocket): Promise<void> {
    const client = this.#clients.get(message.clientId ?? '');
    if (client !== undefined) client.socket = socket;
    try {
      socket.send(JSON.stringify([await this.#reply(message, user)]));
    } catch {
      socket.terminate();
    }
  }

  async #reply(message: CometMessage, user: string | undefined): Promise<CometMessage> {
    const { channel, id, clientId, subscription = '' } = message;
    if (channel === '/meta/handshake') return this.#handshake(message, user);
    const client = this.#clients.get(clientId ?? '');
    if (client === undefined) return { channel, id, successful: false, error: '402::unknown client' };
    const reply = { channel, id, clientId, successful: true };
    switch (channel) {
      case '/meta/connect':
        await this.#hold(client);
        return reply;
      case '/meta/disconnect':
        this.#end(client);
        return reply;
      case '/meta/subscribe':
        client.channels.add(subscription);
        return { ...reply, subscription };
      case '/meta/unsubscribe':
        client.channels.delete(subscription);
        return { ...reply, subscription };
      default:
        return { ...reply, ...(await this.#callOf(channel, message.data as CometCall)) };
    }
  }

  #handshake({ channel, id }: CometMessage, user: string | undefined): CometMessage {
    if (user === undefined) return { channel, id, successful: false, error: '403::log in first' };
    // A user with a new client has lost the old one.
    for (const client of this.#clients.values()) if (client.user === user) this.#end(client);
    this.#ids += 1;
    const clientId = `client${this.#ids}`;
    const state = { channels: new Set<string>(), waiting: [], socket: undefined, answerConnect: () => undefined };
    this.#clients.set(clientId, { id: clientId, user, ...state });
    const advice = { reconnect: 'retry', interval: 0, timeout: HOLD_MS };
    return { channel, id, clientId, successful: true, advice };
  }

  /** Holds a connect until there are values, or for `HOLD_MS`. A WebSocket gets its values directly. */
  async #hold(client: Client): Promise<void> {
    client.answerConnect();
    if (client.waiting.length === 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, HOLD_MS);
        client.answerConnect = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  #end(client: Client): void {
    this.#clients.delete(client.id);
    client.answerConnect();
  }

  async #callOf(channel: string, call: CometCall): Promise<Pick<CometMessage, 'successful' | 'error' | 'data'>> {
    const { eventName, interfaceName, rpcName } = call;
    const names = interfaceName === undefined ? [eventName, rpcName] : ['interface', eventName, interfaceName, rpcName];
    const path = (channel === CALL_CHANNELS.java ? ['java', ...names] : names).join('/');
    const status = await this.#call(channel === CALL_CHANNELS.sba ? 'sba' : 'rpc', path);
    if (status === 200) return { successful: true, data: { result: 'ok' } };
    return { successful: false, error: `${status}::the call failed` };
  }

  #pushValues(): void {
    for (const [name, value] of this.#values) {
      if (Math.random() > CHANGE_SHARE) continue;
      const next = Math.round((value + Math.random() - 0.5) * 100) / 100;
      this.#values.set(name, next);
      this.#push({ channel: encodeObjectChannel(name), data: { objectName: name, value: next } });
    }
    for (const client of this.#clients.values()) if (client.waiting.length > 0) client.answerConnect();
  }

  #push(delivery: CometMessage): void {
    for (const { channels, socket, waiting } of this.#clients.values()) {
      if (!channels.has(delivery.channel)) continue;
      if (socket !== undefined) socket.send(JSON.stringify([delivery]));
      else if (waiting.push(delivery) > MAX_WAITING) waiting.shift();
    }
  }
}

/** Empty if it is not JSON: the demo serves its own users only. */
function parseMessages(json: string): readonly CometMessage[] {
  return attempt(() => [JSON.parse(json) as CometMessage | CometMessage[]].flat()) ?? [];
}
