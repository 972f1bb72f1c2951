/**
 * Users with browsers. Each logs in by the form, holds a Comet connection, monitors some objects, and now and then
 * calls something or opens another picture, which monitors other objects. After a lost connection the user comes back.
 */
import { type Dispatcher, Pool } from 'undici';
import { CometClient } from './comet-client.ts';
import { CALL_CHANNELS, type CometMessage, encodeObjectChannel } from './comet-message.ts';
import { LOGIN_PATH } from './logins.ts';
import { SAMPLE_BROWSERS, SAMPLE_OBJECTS, type SampleBrowser } from './plant.ts';
import { createRandom, pause, pick, type Random } from './random.ts';

interface CometUsersOptions {
  readonly baseUrl: string;
  /** Mean pause of each user between two actions, in ms. Default 1,500. */
  readonly pauseMs?: number;
}

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

interface Work {
  readonly pool: Dispatcher;
  readonly random: Random;
  readonly signal: AbortSignal;
}

export class CometUsers {
  readonly #options: CometUsersOptions;
  readonly #served = new Set<SampleBrowser>();
  #values = 0;
  #haveOpened: () => void = () => undefined;
  /** Resolves when every browser has got a value. */
  readonly opened: Promise<void>;

  constructor(options: CometUsersOptions) {
    this.#options = options;
    this.opened = new Promise((resolve) => {
      this.#haveOpened = resolve;
    });
  }

  get values(): number {
    return this.#values;
  }

  async run(signal: AbortSignal): Promise<void> {
    // Each browser has one held poll and one call in flight.
    const pool = new Pool(new URL(this.#options.baseUrl).origin, { connections: 2 * SAMPLE_BROWSERS.length });
    try {
      await Promise.all(SAMPLE_BROWSERS.map((browser, index) => this.#comeAndGo(browser, index, { pool, signal })));
    } finally {
      await pool.destroy();
    }
  }

  async #comeAndGo(browser: SampleBrowser, index: number, on: Omit<Work, 'random'>): Promise<void> {
    const random = createRandom(1_500 + index);
    while (!on.signal.aborted) {
      try {
        await this.#work(browser, index, { ...on, random });
      } catch {
        await pause(random, 1_000, on.signal);
      }
    }
  }

  /** Never resolves; it ends by rejecting. */
  async #work(browser: SampleBrowser, index: number, { pool, random, signal }: Work): Promise<void> {
    const client = new CometClient({
      ...{ baseUrl: this.#options.baseUrl, transport: browser.transport, pool, signal },
      cookie: await this.#logIn(browser, pool, signal),
      onValue: () => {
        this.#values += 1;
        if (this.#served.add(browser).size === SAMPLE_BROWSERS.length) this.#haveOpened();
      },
    });
    try {
      await client.open();
      await Promise.race([client.stayConnected(), this.#use(client, { first: index, random, signal })]);
    } finally {
      client.close();
    }
  }

  async #logIn({ user, password }: SampleBrowser, pool: Dispatcher, signal: AbortSignal): Promise<string> {
    const { headers, body } = await pool.request({
      path: `${new URL(this.#options.baseUrl).pathname}/${LOGIN_PATH}`,
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

  async #use(client: CometClient, { first, random, signal }: { first: number; random: Random; signal: AbortSignal }) {
    let at = first;
    for (const name of selectObjects(at))
      await client.send({ channel: '/meta/subscribe', subscription: encodeObjectChannel(name) });
    while (!signal.aborted) {
      await pause(random, this.#options.pauseMs ?? 1_500, signal);
      if (random() < CALL_SHARE) {
        await client.send(pick(random, CALLS));
        continue;
      }
      // The next picture: its first object disappears, and another one appears.
      const [gone = ''] = selectObjects(at);
      at += 1;
      const come = selectObjects(at).at(-1) ?? '';
      await client.send({ channel: '/meta/unsubscribe', subscription: encodeObjectChannel(gone) });
      await client.send({ channel: '/meta/subscribe', subscription: encodeObjectChannel(come) });
    }
  }
}

function selectObjects(at: number): readonly string[] {
  return Array.from(
    { length: OBJECTS_AT_ONCE },
    (_, index) => SAMPLE_OBJECTS[(at + index) % SAMPLE_OBJECTS.length] ?? '',
  );
}
