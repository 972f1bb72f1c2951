/** The real `faye` client as a peer: it handshakes by long-polling, then continues over WebSocket. */
import faye, { type Message } from 'faye';
import { COMET_PATH } from '../../support/comet/login-desk.ts';
import { type Browser, fieldsOf, type MonitorManner, type Peer } from '../../support/comet/peer.ts';
import { OBJECT_PREFIX, objectOf, SUBSCRIBE_CHANNEL, UNSUBSCRIBE_CHANNEL } from '../../support/comet/plant.ts';
import { channelOf, dataOf, isFailure, metricNameOf, type PlantCall } from '../../support/comet/plant-call.ts';
import { Tally } from '../../support/comet/tally.ts';
import { until } from '../../support/comet/until.ts';

const RETRY_S = 0.1;
/** The server holds polls so briefly that a busy machine could be late; the client must not give up then. */
const PATIENCE_MS = 60_000;

interface Waiting {
  readonly call: PlantCall;
  readonly resolve: () => void;
  readonly reject: (cause: Error) => void;
}

export class FayePeer implements Peer {
  readonly browser: Browser;
  readonly tally = new Tally();
  readonly #client: InstanceType<typeof faye.Client>;
  readonly #manners = new Map<string, MonitorManner>();
  /** Calls by their data until they have an id, then by the id. */
  readonly #planned = new Map<unknown, Waiting>();
  readonly #waiting = new Map<string, Waiting>();
  #handshakes = 0;
  #connects = 0;
  /** Connects that were sent over WebSocket since the last handshake. */
  #socketConnects = 0;

  constructor(origin: string, browser: Browser) {
    this.browser = browser;
    this.#client = new faye.Client(`${origin}${COMET_PATH}`, { retry: RETRY_S });
    for (const [name, value] of Object.entries(fieldsOf(browser))) this.#client.setHeader(name, value);
    this.#client.addExtension({
      outgoing: (message, callback) => {
        this.#onOutgoing(message);
        callback(message);
      },
      incoming: (message, callback) => {
        this.#onIncoming(message);
        callback(message);
      },
    });
  }

  get clientId(): string | undefined {
    return this.#client._dispatcher.clientId;
  }

  get handshakes(): number {
    return this.#handshakes;
  }

  get connects(): number {
    return this.#connects;
  }

  async connect(): Promise<void> {
    this.#client.connect(() => undefined);
    await until('the client connects over WebSocket', () => this.#socketConnects > 0);
  }

  async monitor(object: string, manner: MonitorManner): Promise<boolean> {
    const { fulfilled } = await settled(
      manner === 'service'
        ? this.#client.publish(SUBSCRIBE_CHANNEL, { objectName: object })
        : this.#client.subscribe(`${OBJECT_PREFIX}${object}`, () => undefined),
    );
    if (!fulfilled) return false;
    this.tally.monitored.add(object);
    this.#manners.set(object, manner);
    return true;
  }

  async unmonitor(object: string): Promise<void> {
    const manner = this.#manners.get(object);
    this.#manners.delete(object);
    if (manner === 'service') {
      await this.#client.publish(UNSUBSCRIBE_CHANNEL, { objectName: object });
      this.tally.monitored.delete(object);
    } else {
      this.#client.unsubscribe(`${OBJECT_PREFIX}${object}`);
      await until(`${object} is unsubscribed`, () => !this.tally.monitored.has(object));
    }
  }

  async call(...calls: readonly PlantCall[]): Promise<void> {
    await Promise.all(calls.map((call) => this.#call(call)));
  }

  async breakConnection(): Promise<void> {
    const [id, connects] = [this.clientId, this.#connects];
    this.#destroySocket();
    await until('the client is back after its connection broke', () => this.#connects > connects);
    if (this.clientId !== id) throw new Error('the client reconnected with another clientId');
  }

  async recovered(handshakesBefore: number): Promise<void> {
    await until('the client has shaken hands anew', () => this.#handshakes > handshakesBefore);
    await until('the client connects over WebSocket anew', () => this.#socketConnects > 0);
    const wanted = [...this.#manners.keys()];
    await until('the client monitors again', () => wanted.every((object) => this.tally.monitored.has(object)));
  }

  async disconnect(): Promise<void> {
    await this.#client.disconnect();
    this.tally.monitored.clear();
  }

  kill(): void {
    this.tally.monitored.clear();
    this.#destroySocket();
    // Without a transport the client cannot reconnect.
    delete this.#client._dispatcher._transport;
  }

  #destroySocket(): void {
    this.#client._dispatcher._transport?._socket?._stream.destroy();
  }

  #onOutgoing(message: Message): void {
    if (message.channel === '/meta/handshake' && this.browser.ext !== undefined) message.ext = this.browser.ext;
    if (message.channel === '/meta/connect' && message.connectionType === 'websocket') this.#socketConnects += 1;
    const waiting = this.#planned.get(message.data);
    if (waiting === undefined) return;
    this.#planned.delete(message.data);
    this.#waiting.set(message.id as string, waiting);
  }

  #onIncoming(message: Message): void {
    const { channel, data, successful, subscription } = message;
    if (message.advice?.timeout !== undefined) message.advice.timeout = PATIENCE_MS;
    const object = objectOf(channel, data);
    if (object !== undefined && data !== undefined && successful === undefined) this.tally.countValue(object);
    this.#onAnswer(message);
    if (successful !== true) return;
    if (channel === '/meta/handshake') this.#onHandshake();
    if (channel === '/meta/connect') this.#connects += 1;
    // The client subscribes again automatically; the replies tell which objects.
    for (const name of [subscription ?? []].flat()) {
      if (channel === '/meta/subscribe') this.tally.monitored.add(objectOf(name) ?? name);
      else if (channel === '/meta/unsubscribe') this.tally.monitored.delete(objectOf(name) ?? name);
    }
  }

  #onHandshake(): void {
    this.#handshakes += 1;
    this.#connects = 0;
    this.#socketConnects = 0;
    this.tally.monitored.clear();
    for (const [object, manner] of this.#manners) if (manner === 'service') void this.monitor(object, manner);
  }

  #onAnswer({ id, channel, data, successful, error }: Message): void {
    const waiting = this.#waiting.get(id ?? '');
    // A value has an id as well, from the server's own publisher: only the channel distinguishes them.
    if (waiting === undefined || channelOf(waiting.call) !== channel) return;
    const { call, resolve, reject } = waiting;
    const isLate = call.manner === 'late' || call.manner === 'refused-late';
    if (isLate && data === undefined) return;
    this.#waiting.delete(id ?? '');
    const isFailed = successful === false;
    this.tally.countCall(metricNameOf(call), isFailed);
    if (isFailed === isFailure(call)) resolve();
    else reject(new Error(`${metricNameOf(call)}: ${error} ${JSON.stringify(data)}`));
  }

  #call(call: PlantCall): Promise<void> {
    return new Promise((resolve, reject) => {
      const data = dataOf(call);
      this.#planned.set(data, { call, resolve, reject });
      // Its own promise covers the acknowledgement only.
      void settled(this.#client.publish(channelOf(call), data));
    });
  }
}

async function settled(promise: PromiseLike<void>): Promise<{ fulfilled: boolean }> {
  const [{ status }] = await Promise.allSettled([promise]);
  return { fulfilled: status === 'fulfilled' };
}
