/** A Comet connection of a browser: shakes hands, polls or listens, and matches each reply to its message by id. */
import { EventEmitter, once } from 'node:events';
import { request, WebSocket } from 'undici';
import { COMET_PATH, type CometMessage } from './comet-message.ts';
import type { SampleBrowser } from './plant.ts';

interface CometClientOptions {
  readonly baseUrl: string;
  readonly transport: SampleBrowser['transport'];
  readonly cookie: string;
  readonly signal: AbortSignal;
  readonly onValue: () => void;
}

export class CometClient {
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
