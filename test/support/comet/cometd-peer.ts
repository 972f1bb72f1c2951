/** The real `cometd` client as a peer: long-polling or WebSocket. */
import { CometD, type Message, type SubscriptionHandle } from 'cometd';
import { type Browser, fieldsOf, keepCookies } from './browsers.ts';
import { openWindow, sendingFrom, type TabConnections } from './cometd-window.ts';
import { COMET_PATH } from './login-desk.ts';
import { DELIVERY_CHANNEL, OBJECT_PREFIX, objectOf, SUBSCRIBE_CHANNEL, UNSUBSCRIBE_CHANNEL } from './plant.ts';
import { channelOf, dataOf, isFailure, metricNameOf, type PlantCall } from './plant-call.ts';
import { Tally } from './tally.ts';
import { until } from './until.ts';

openWindow();

/** How an object is monitored: by a subscription to its channel, or by a message to the service. */
type MonitorManner = 'channel' | 'service';

export type Transport = 'long-polling' | 'websocket';

interface SendingTransport {
  context: unknown;
  send(...args: unknown[]): void;
}

export class CometdPeer {
  readonly browser: Browser;
  tally = new Tally();
  handshakes = 0;
  connects = 0;
  readonly #cometd = new CometD();
  readonly #tab: TabConnections;
  readonly #subscriptions = new Map<string, SubscriptionHandle>();
  readonly #manners = new Map<string, MonitorManner>();
  #isKilled = false;

  constructor(origin: string, browser: Browser, transport: Transport) {
    this.browser = browser;
    this.#tab = {
      fields: () => fieldsOf(browser),
      keepCookies: (setCookies) => keepCookies(browser, setCookies),
      requests: new Set(),
      sockets: new Set(),
    };
    const cometd = this.#cometd;
    cometd.configure({
      url: `${origin}${COMET_PATH}`,
      logLevel: 'warn',
      backoffIncrement: 10,
      // The library takes only a message without data for an answer, and closes a WebSocket whose calls lack it for this
      // long: longer than any test.
      maxNetworkDelay: 600_000,
      // Appends the message type to the path for long-polling, as CometD does by default.
      appendMessageTypeToURL: transport === 'long-polling',
    });
    for (const type of cometd.getTransportTypes()) if (type !== transport) cometd.unregisterTransport(type);
    this.#watch(cometd.getTransportRegistry().find(transport) as unknown as SendingTransport);
    cometd.addListener('/meta/handshake', (message) => this.#onHandshake(message));
    cometd.addListener('/meta/connect', ({ successful }) => {
      if (successful === true) this.connects += 1;
    });
    cometd.addListener(DELIVERY_CHANNEL, (message) => this.#onValue(message));
  }

  get clientId(): string | undefined {
    return this.#cometd.getClientId() ?? undefined;
  }

  async connect(): Promise<void> {
    const { ext } = this.browser;
    const shaken = new Promise<Message>((resolve) => this.#cometd.handshake(ext === undefined ? {} : { ext }, resolve));
    const { successful, error } = await shaken;
    if (successful !== true) throw new Error(`the handshake was refused: ${error}`);
    await until('the first connect is answered', () => this.connects > 0);
  }

  /** False when the server refuses. */
  async monitor(object: string, manner: MonitorManner): Promise<boolean> {
    const reply = await this.#monitor(object, manner);
    if (reply.successful === true) {
      this.tally.monitored.add(object);
      this.#manners.set(object, manner);
    }
    return reply.successful === true;
  }

  async unmonitor(object: string): Promise<void> {
    const manner = this.#manners.get(object);
    this.#manners.delete(object);
    const { successful } = await new Promise<Message>((resolve) => {
      const handle = this.#subscriptions.get(object);
      if (manner === 'service') this.#cometd.publish(UNSUBSCRIBE_CHANNEL, { objectName: object }, resolve);
      else if (handle !== undefined) this.#cometd.unsubscribe(handle, resolve);
    });
    if (successful !== true) throw new Error(`cannot stop monitoring ${object}`);
    this.tally.monitored.delete(object);
  }

  async call(...calls: readonly PlantCall[]): Promise<void> {
    const answers: Promise<void>[] = [];
    this.#cometd.batch(() => {
      for (const call of calls) answers.push(this.#call(call));
    });
    await Promise.all(answers);
  }

  /** Cuts the client's connection; resolves when it is back with the same `clientId`. */
  async breakConnection(): Promise<void> {
    const [id, connects] = [this.clientId, this.connects];
    for (const request of this.#tab.requests) if (request.isConnect) request.abort();
    for (const socket of this.#tab.sockets) socket.terminate();
    await until('the client is back after its connection broke', () => this.connects > connects);
    if (this.clientId !== id) throw new Error('the client reconnected with another clientId');
  }

  /** Resolves after a new handshake, once its subscriptions are back. */
  async recovered(handshakesBefore: number): Promise<void> {
    await until('the client has shaken hands anew', () => this.handshakes > handshakesBefore);
    await until('the client is connected anew', () => this.connects > 0);
    const wanted = [...this.#manners.keys()];
    await until('the client monitors again', () => wanted.every((object) => this.tally.monitored.has(object)));
  }

  async disconnect(): Promise<void> {
    // Its callback would never be called.
    if (this.#cometd.isDisconnected()) throw new Error('the server had ended the client');
    const status = this.#cometd.getStatus();
    const reply = await new Promise<Message>((resolve) => this.#cometd.disconnect(resolve));
    if (reply.successful !== true) throw new Error(`cannot disconnect in status ${status}: ${reasonOf(reply)}`);
    this.tally.monitored.clear();
    for (const socket of this.#tab.sockets) socket.close();
  }

  kill(): void {
    // The poll may be between two requests, with the next one on a timer.
    this.#isKilled = true;
    this.tally.monitored.clear();
    const cometd = this.#cometd as CometD & { onTransportFailure: unknown };
    cometd.onTransportFailure = (_message: Message, info: object, handle: (info: object) => void) =>
      handle.call(cometd, { ...info, action: 'none' });
    for (const socket of [...this.#tab.sockets]) socket.terminate();
    for (const request of [...this.#tab.requests]) request.abort();
  }

  #watch(transport: SendingTransport): void {
    transport.context = this.#tab;
    const send = transport.send.bind(transport);
    transport.send = (...args) => {
      if (!this.#isKilled) sendingFrom(this.#tab, () => send(...args));
    };
  }

  #onHandshake({ successful }: Message): void {
    if (successful !== true) return;
    this.handshakes += 1;
    this.connects = 0;
    // The server forgets its clients: subscriptions have to be made again.
    this.tally.monitored.clear();
    this.#subscriptions.clear();
    for (const [object, manner] of this.#manners) void this.monitor(object, manner);
  }

  #monitor(object: string, manner: MonitorManner): Promise<Message> {
    return new Promise((resolve) => {
      if (manner === 'service') {
        this.#cometd.publish(SUBSCRIBE_CHANNEL, { objectName: object }, resolve);
      } else {
        const onValue = (message: Message) => this.#onValue(message);
        this.#subscriptions.set(object, this.#cometd.subscribe(`${OBJECT_PREFIX}${object}`, onValue, resolve));
      }
    });
  }

  #onValue({ channel, data }: Message): void {
    const object = objectOf(channel, data);
    if (object !== undefined) this.tally.countValue(object);
  }

  #call(call: PlantCall): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAnswer = (answer: Message) => {
        const isFailed = answer.successful === false;
        if (isFailed !== isFailure(call))
          reject(new Error(`${metricNameOf(call)}, to be answered ${call.manner}: ${reasonOf(answer)}`));
        this.tally.countCall(metricNameOf(call), isFailed);
        resolve();
      };
      if (call.manner === 'ack') this.#cometd.publish(channelOf(call), dataOf(call), onAnswer);
      else this.#cometd.remoteCall(channelOf(call).slice('/service/'.length), dataOf(call), onAnswer);
    });
  }
}

function reasonOf({ error, failure }: Message & { readonly failure?: { readonly reason?: string } }): string {
  return error ?? failure?.reason ?? 'no reason given';
}
