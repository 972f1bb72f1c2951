/**
 * A plant that speaks Bayeux over WebSocket, on the real `ws`: no server package compresses, batches and fragments, or
 * takes channel names with a dot, as the objects of a control system have them.
 */
import { createServer, type IncomingMessage } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { type PerMessageDeflateOptions, type WebSocket, WebSocketServer } from 'ws';
import { COMET_PATH, cookieOf, LoginDesk } from './login-desk.ts';
import {
  DELIVERY_CHANNEL,
  FORBIDDEN_OBJECT,
  GONE_MS,
  HOLD_MS,
  listen,
  newValue,
  OBJECT_PREFIX,
  objectOf,
  type Plant,
  SUBSCRIBE_CHANNEL,
  UNSUBSCRIBE_CHANNEL,
} from './plant.ts';
import { answerOf, isFailure, type PlantCall, toPlantCall } from './plant-call.ts';

export interface WebSocketPlantOptions {
  readonly deflate: PerMessageDeflateOptions | false;
  /** How long a connect is held; default `HOLD_MS`. */
  readonly holdMs?: number;
  /** Whether every message is one frame, without pings; default false. */
  readonly isPlain?: boolean;
}

export interface WebSocketPlant extends Plant {
  /** Pushes a value of each object, all values for one client in one WebSocket message. */
  pushTogether(objects: readonly string[]): void;
  /** Bytes queued in the sockets of all clients. */
  readonly bufferedBytes: number;
  /** Negotiated extensions, e.g. `permessage-deflate; client_max_window_bits=10`; empty without any. */
  readonly extensions: ReadonlySet<string>;
}

interface Message {
  readonly channel: string;
  readonly id?: string;
  readonly clientId?: string;
  readonly data?: { readonly objectName: string };
  readonly subscription?: string | readonly string[];
  readonly advice?: { readonly timeout?: number };
  readonly ext?: unknown;
}

type Reply = Readonly<Record<string, unknown>>;

interface Client {
  readonly id: string;
  readonly cookie: string | undefined;
  socket: WebSocket | undefined;
  /** Monitored channels, and objects monitored through the service. */
  readonly monitored: Set<string>;
  answerConnect: (() => void) | undefined;
  expiry: NodeJS.Timeout | undefined;
}

/** Every this many messages, one is sent in fragments, with a ping between them. */
const FRAGMENTED_EVERY = 5;
const FRAGMENT_CHARS = 100;

/** A failure instead of a refusal: by the contract a refusal alone does not make a name known. */
const FAILED = '500::failed';

export async function startWebSocketPlant(options: WebSocketPlantOptions): Promise<WebSocketPlant> {
  const plant = new Bayeux(options.holdMs ?? HOLD_MS, options.isPlain ?? false);
  const http = createServer((request, response) => plant.desk.serve(request, response));
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: options.deflate });
  const extensions = new Set<string>();
  sockets.on('headers', (lines) => {
    const field = lines.find((line) => line.startsWith('Sec-WebSocket-Extensions: '));
    extensions.add(field?.slice(field.indexOf(' ') + 1) ?? '');
  });
  http.on('upgrade', (request, socket, head) => {
    if (request.url?.startsWith(COMET_PATH) !== true) socket.destroy();
    else sockets.handleUpgrade(request, socket, head, (webSocket) => plant.accept(webSocket, request));
  });
  const { port, cut } = await listen(http);
  return {
    port,
    extensions,
    get clientCount() {
      return plant.clients.size;
    },
    push: (object) => plant.push([object]),
    pushTogether: (objects) => plant.push(objects),
    forget: (clientId) => plant.end(clientId),
    get bufferedBytes() {
      return [...sockets.clients].reduce((sum, { bufferedAmount }) => sum + bufferedAmount, 0);
    },
    close: async () => {
      plant.close();
      for (const socket of sockets.clients) socket.terminate();
      await cut();
    },
  };
}

class Bayeux {
  readonly desk = new LoginDesk((cookie) => {
    for (const client of this.clients.values()) if (client.cookie === cookie) this.end(client.id);
  });
  readonly clients = new Map<string, Client>();
  readonly #holdMs: number;
  readonly #isPlain: boolean;
  #ids = 0;
  #sent = 0;

  constructor(holdMs: number, isPlain: boolean) {
    this.#holdMs = holdMs;
    this.#isPlain = isPlain;
  }

  accept(socket: WebSocket, request: IncomingMessage): void {
    socket.on('error', () => undefined);
    socket.on('message', (bytes: Buffer) => {
      const messages = [JSON.parse(bytes.toString('utf8')) as Message | Message[]].flat();
      // Immediate answers are sent together, in the order of their messages.
      const replies = messages
        .map((message) => this.#reply(message, socket, request))
        .filter((reply) => reply !== undefined);
      if (replies.length > 0) this.#send(socket, replies);
    });
    socket.on('close', () => {
      for (const client of this.clients.values()) if (client.socket === socket) this.#lose(client);
    });
  }

  push(objects: readonly string[]): void {
    for (const client of this.clients.values()) {
      const values = objects.flatMap((object) =>
        [`${OBJECT_PREFIX}${object}`, object]
          .filter((key) => client.monitored.has(key))
          .map((key) => ({ channel: toDeliveryChannel(key), data: newValue(object) })),
      );
      if (client.socket !== undefined && values.length > 0) this.#send(client.socket, values);
    }
  }

  end(clientId: string): void {
    const client = this.clients.get(clientId);
    if (client === undefined) return;
    clearTimeout(client.expiry);
    this.clients.delete(clientId);
    client.answerConnect?.();
  }

  close(): void {
    for (const id of [...this.clients.keys()]) this.end(id);
  }

  #lose(client: Client): void {
    client.socket = undefined;
    client.answerConnect?.();
    client.expiry = setTimeout(() => this.end(client.id), GONE_MS);
  }

  /** Undefined if the answer comes later. */
  #reply(message: Message, socket: WebSocket, request: IncomingMessage): Reply | undefined {
    const { channel, id } = message;
    if (channel === '/meta/handshake') return this.#handshake(message, request);
    const client = this.clients.get(message.clientId ?? '');
    if (client === undefined) {
      return { channel, id, successful: false, error: '402::unknown client', advice: { reconnect: 'handshake' } };
    }
    if (channel === '/meta/connect') return this.#connect(client, message, socket);
    const base = { channel, id, clientId: client.id };
    if (channel === '/meta/disconnect') {
      this.end(client.id);
      return { ...base, successful: true };
    }
    if (channel === '/meta/subscribe' || channel === '/meta/unsubscribe') {
      const subscriptions = [message.subscription ?? []].flat();
      const isGranted = subscriptions.every((name) => this.#monitor(client, name, channel === '/meta/subscribe'));
      return { ...base, subscription: message.subscription, ...outcome(isGranted) };
    }
    if (channel === SUBSCRIBE_CHANNEL || channel === UNSUBSCRIBE_CHANNEL) {
      const key = message.data?.objectName ?? '';
      return { ...base, ...outcome(this.#monitor(client, key, channel === SUBSCRIBE_CHANNEL)) };
    }
    const call = toPlantCall(channel, message.data);
    return call === undefined ? { ...base, ...outcome(false) } : this.#answer(client, call, base);
  }

  #handshake({ channel, id, ext }: Message, request: IncomingMessage): Reply {
    if (!this.desk.accepts(request, ext)) {
      return { channel, id, successful: false, error: '403::handshake denied', advice: { reconnect: 'none' } };
    }
    this.#ids += 1;
    const clientId = `c${this.#ids}`;
    const expiry = setTimeout(() => this.end(clientId), GONE_MS);
    const none = { socket: undefined, answerConnect: undefined };
    this.clients.set(clientId, { id: clientId, cookie: cookieOf(request), monitored: new Set(), expiry, ...none });
    const supportedConnectionTypes = ['websocket'];
    const advice = { reconnect: 'retry', interval: 0, timeout: this.#holdMs };
    return { channel, id, clientId, version: '1.0', supportedConnectionTypes, successful: true, advice };
  }

  #connect(client: Client, { channel, id, advice }: Message, socket: WebSocket): Reply | undefined {
    clearTimeout(client.expiry);
    client.answerConnect?.();
    client.socket = socket;
    const reply = { channel, id, clientId: client.id, successful: true };
    if (advice?.timeout === 0) return reply;
    const answer = () => {
      clearTimeout(timer);
      client.answerConnect = undefined;
      if (client.socket === socket) this.#send(socket, [reply]);
    };
    const timer = setTimeout(answer, this.#holdMs);
    client.answerConnect = answer;
    return undefined;
  }

  /** `key`: the subscribed channel, or the object name sent to the service. */
  #monitor(client: Client, key: string, isWanted: boolean): boolean {
    if ((objectOf(key) ?? key) === FORBIDDEN_OBJECT) return false;
    if (isWanted) client.monitored.add(key);
    else client.monitored.delete(key);
    return true;
  }

  #answer(client: Client, call: PlantCall, base: Reply): Reply | undefined {
    const isLate = call.manner === 'late' || call.manner === 'refused-late';
    const finish = () => {
      const data = call.manner === 'ack' || call.manner === 'refused' ? {} : { data: answerOf(call) };
      if (client.socket !== undefined)
        this.#send(client.socket, [{ ...base, ...outcome(!isFailure(call), FAILED), ...data }]);
    };
    void wait(call.workMs).then(finish);
    return isLate ? { ...base, successful: true } : undefined;
  }

  #send(socket: WebSocket, messages: readonly Reply[]): void {
    const text = JSON.stringify(messages);
    this.#sent += 1;
    if (this.#isPlain || this.#sent % FRAGMENTED_EVERY !== 0) {
      socket.send(text);
      return;
    }
    for (let at = 0; at < text.length; at += FRAGMENT_CHARS) {
      socket.send(text.slice(at, at + FRAGMENT_CHARS), { fin: at + FRAGMENT_CHARS >= text.length });
      socket.ping();
    }
  }
}

function outcome(isGranted: boolean, error = '403::denied'): Reply {
  return isGranted ? { successful: true } : { successful: false, error };
}

function toDeliveryChannel(key: string): string {
  return key.startsWith(OBJECT_PREFIX) ? key : DELIVERY_CHANNEL;
}
