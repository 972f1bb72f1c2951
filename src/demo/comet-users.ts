/**
 * Users with browsers. Each logs in by the form, holds a Comet connection, monitors some objects, and now and then
 * calls something or opens another picture, which monitors other objects. After a lost connection the user comes back.
 */
import { EventEmitter, once } from 'node:events';
import { request } from 'undici';
import { CometClient } from './comet-client.ts';
import { CALL_CHANNELS, type CometMessage, encodeObjectChannel } from './comet-message.ts';
import { LOGIN_PATH } from './logins.ts';
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
