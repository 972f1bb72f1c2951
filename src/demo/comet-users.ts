/**
 * Users with browsers. Each logs in by the form, holds a Comet connection, monitors some objects, and now and then
 * calls something or opens another picture, which monitors other objects. After a lost connection the user comes back.
 */
import { EventEmitter, once } from 'node:events';
import { request, WebSocket } from 'undici';
import { CALL_CHANNELS, COMET_PATH, type CometMessage, encodeObjectChannel } from './comet-message.ts';
import { LOGIN_PATH } from './comet-server.ts';
import { SAMPLE_BROWSERS, SAMPLE_OBJECTS, type SampleBrowser } from './plant.ts';
import { pause, pick } from './random.ts';

/** The calls of a browser. The last one is slow and fails at times. */
const CALLS: readonly CometMessage[] = [
  { channel: CALL_CHANNELS.rpc, data: { eventName: 'E.Boiler', rpcName: 'ReadState' } },
  { channel: CALL_CHANNELS.rpc, data: { eventName: 'E.Alarms', rpcName: 'Acknowledge' } },
  { channel: CALL_CHANNELS.rpc, data: { eventName: 'E.Boiler', interfaceName: 'Control', rpcName: 'Start' } },
  { channel: CALL_CHANNELS.java, data: { eventName: 'E.Reports', rpcName: 'Daily' } },
  { channel: CALL_CHANNELS.sba, data: { eventName: 'E.Reports', rpcName: 'Print' } },
];
const OBJECTS_AT_ONCE = 3;
const CALL_SHARE = 0.7;

export class CometUsers {
  readonly #baseUrl: string;
  readonly #pauseMs: number;
  readonly #served = new Set<SampleBrowser>();
  readonly #events = new EventEmitter();
  /** Resolves when every browser has got a value. */
  readonly opened = once(this.#events, 'opened');
  /** Of all browsers. */
  values = 0;

  /** `pauseMs`: the mean pause of each user between two actions. */
  constructor({ baseUrl, pauseMs = 1_500 }: { readonly baseUrl: string; readonly pauseMs?: number }) {
    this.#baseUrl = baseUrl;
    this.#pauseMs = pauseMs;
  }

  async run(signal: AbortSignal): Promise<void> {
    const browsing = SAMPLE_BROWSERS.map(async (browser, index) => {
      while (!signal.aborted) await this.#work(browser, index, signal).catch(() => pause(1_000, signal));
    });
    await Promise.all(browsing);
  }

  /** Never resolves; it ends by rejecting. */
  async #work(browser: SampleBrowser, index: number, signal: AbortSignal): Promise<void> {
    const client = new CometClient({
      ...{ baseUrl: this.#baseUrl, transport: browser.transport, signal },
      cookie: await this.#logIn(browser, signal),
      onValue: () => {
        this.values += 1;
        if (this.#served.add(browser).size === SAMPLE_BROWSERS.length) this.#events.emit('opened');
      },
    });
    try {
      await client.open();
      await Promise.race([client.stayConnected(), this.#use(client, index, signal)]);
    } finally {
      client.close();
    }
  }

  async #logIn({ user, password }: SampleBrowser, signal: AbortSignal): Promise<string> {
    const { headers, body } = await request(`${this.#baseUrl}/${LOGIN_PATH}`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ j_username: user, j_password: password }).toString(),
      signal,
    });
    await body.dump();
    const [cookie = ''] = String(headers['set-cookie'] ?? '').split(';');
    if (cookie === '') throw new Error(`the login of ${user} was refused`);
    return cookie;
  }

  /** `at`: the first object of the picture that the browser shows. */
  async #use(client: CometClient, at: number, signal: AbortSignal): Promise<void> {
    for (let shown = 0; shown < OBJECTS_AT_ONCE; shown += 1) await change(client, 'subscribe', at + shown);
    for (let first = at; !signal.aborted; ) {
      await pause(this.#pauseMs, signal);
      if (Math.random() < CALL_SHARE) {
        await client.send(pick(CALLS));
        continue;
      }
      // The next picture: its first object disappears, and another one appears.
      await change(client, 'unsubscribe', first);
      await change(client, 'subscribe', first + OBJECTS_AT_ONCE);
      first += 1;
    }
  }
}

async function change(client: CometClient, what: 'subscribe' | 'unsubscribe', number: number): Promise<void> {
  const name = SAMPLE_OBJECTS[number % SAMPLE_OBJECTS.length] ?? '';
  await client.send({ channel: `/meta/${what}`, subscription: encodeObjectChannel(name) });
}

interface CometClientOptions {
  readonly baseUrl: string;
  readonly transport: SampleBrowser['transport'];
  readonly cookie: string;
  readonly signal: AbortSignal;
  readonly onValue: () => void;
}

/** A Comet connection of a browser: shakes hands, polls or listens, and matches each reply to its message by id. */
class CometClient {
  readonly #options: CometClientOptions;
  /** Emits each reply under the id of its message. */
  readonly #replies = new EventEmitter();
  readonly #lost = new AbortController();
  #socket: WebSocket | undefined;
  #clientId: string | undefined;
  #ids = 0;

  constructor(options: CometClientOptions) {
    this.#options = options;
  }

  /** Rejects if the server cannot be reached or refuses the handshake. */
  async open(): Promise<void> {
    if (this.#options.transport === 'websocket') await this.#openSocket();
    const reply = await this.send({ channel: '/meta/handshake' });
    if (reply.successful !== true) throw new Error(`the handshake was refused: ${reply.error}`);
    this.#clientId = reply.clientId;
  }

  /** Always keeps a connect pending at the server. Rejects when the connection is lost, also by the end of the demo. */
  async stayConnected(): Promise<never> {
    for (;;) {
      const { successful } = await this.send({ channel: '/meta/connect', connectionType: this.#options.transport });
      if (successful !== true) throw new Error('the server has forgotten this client');
    }
  }

  async send(message: CometMessage): Promise<CometMessage> {
    this.#ids += 1;
    const id = String(this.#ids);
    const complete = { ...message, id, clientId: this.#clientId };
    const reply = once(this.#replies, id, { signal: this.#lost.signal }) as Promise<[CometMessage]>;
    const sent = this.#socket === undefined ? this.#post(complete) : this.#socket.send(JSON.stringify([complete]));
    const [[received]] = await Promise.all([reply, sent]);
    return received;
  }

  close(): void {
    this.#socket?.close();
  }

  async #openSocket(): Promise<void> {
    const { baseUrl, cookie, signal } = this.#options;
    const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}/${COMET_PATH}`, { headers: { cookie } });
    socket.addEventListener('message', ({ data }) => this.#receive(String(data)));
    const lost = this.#lost.signal;
    signal.addEventListener('abort', () => socket.close(), { once: true, signal: lost });
    socket.addEventListener('close', () => this.#lost.abort(new Error('the WebSocket was closed')));
    await once(socket, 'open', { signal: lost });
    this.#socket = socket;
  }

  async #post(message: CometMessage): Promise<void> {
    const { baseUrl, cookie, signal } = this.#options;
    const { body } = await request(`${baseUrl}/${COMET_PATH}`, {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json;charset=UTF-8' },
      body: JSON.stringify([message]),
      signal,
    });
    this.#receive(await body.text());
  }

  #receive(json: string): void {
    for (const message of JSON.parse(json) as readonly CometMessage[]) {
      if (message.id === undefined || !this.#replies.emit(message.id, message)) this.#options.onValue();
    }
  }
}
