/**
 * Bayeux as old browsers speak it, for which there is no Node client: callback-polling (`GET ?jsonp=...&message=...`, answered by a
 * script) and form-encoded posts (`message=...`). Written by hand, against the real `faye` server.
 */
import { COMET_PATH } from '../../support/comet/login-desk.ts';
import { objectOf } from '../../support/comet/plant.ts';
import { Tally } from '../../support/comet/tally.ts';

export interface Message {
  readonly channel: string;
  readonly id?: string;
  readonly clientId?: string;
  readonly successful?: boolean;
  readonly data?: unknown;
  readonly subscription?: string;
}

export type PollingManner = 'callback' | 'form';

export class FormPoller {
  readonly tally = new Tally();
  readonly #url: string;
  readonly #manner: PollingManner;
  #clientId: string | undefined;
  #ids = 0;

  constructor(origin: string, manner: PollingManner) {
    this.#url = `${origin}${COMET_PATH}`;
    this.#manner = manner;
  }

  async connect(userName: string): Promise<void> {
    const supportedConnectionTypes = ['callback-polling', 'long-polling'];
    const ext = { authentication: { user: userName } };
    const handshake = { channel: '/meta/handshake', version: '1.0', supportedConnectionTypes, ext };
    const [reply] = await this.send(handshake);
    if (reply?.successful !== true) throw new Error(`the handshake was refused: ${JSON.stringify(reply)}`);
    this.#clientId = reply.clientId;
  }

  /** One poll; it returns with values or after the server's timeout. */
  async poll(): Promise<void> {
    const connectionType = this.#manner === 'callback' ? 'callback-polling' : 'long-polling';
    await this.send({ channel: '/meta/connect', connectionType });
  }

  /** Sends messages in one request, and counts values that come with the replies. */
  async send(...messages: readonly object[]): Promise<Message[]> {
    const complete = messages.map((message) => {
      this.#ids += 1;
      return { ...message, id: `m${this.#ids}`, clientId: this.#clientId };
    });
    const received = await (this.#manner === 'callback' ? this.#get(complete) : this.#post(complete));
    for (const { channel, data, successful } of received) {
      const object = data === undefined || successful !== undefined ? undefined : objectOf(channel, data);
      if (object !== undefined) this.tally.countValue(object);
    }
    return received;
  }

  async #get(messages: readonly object[]): Promise<Message[]> {
    const query = new URLSearchParams({ jsonp: 'cb._7', message: JSON.stringify(messages) });
    const response = await fetch(`${this.#url}?${query}`);
    const [, json = ''] = /^\/\*\*\/cb\._7\((.*)\);$/s.exec(await response.text()) ?? [];
    return JSON.parse(json) as Message[];
  }

  async #post(messages: readonly object[]): Promise<Message[]> {
    const response = await fetch(this.#url, {
      method: 'POST',
      body: new URLSearchParams({ message: JSON.stringify(messages) }),
    });
    return (await response.json()) as Message[];
  }
}
