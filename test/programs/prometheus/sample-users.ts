/** Users of the sample plant, who exercise everything on a dashboard, in a loop until they are stopped. */
import { setTimeout as wait } from 'node:timers/promises';
import { request } from 'undici';
import WebSocket from 'ws';
import { basic } from '../../support/monitor/access/access-files.ts';

const REST = '/smartWeb/api/rest/v0/d2';
const COMET = '/smartWeb/api/cometd';
const CHANNEL = '/d2/object/H.Level';
/** Between two rounds of calls; dozens of rounds fit between two scrapes. */
const PAUSE_MS = 25;

export class SampleUsers {
  readonly #at: string;
  readonly #stopping = new AbortController();
  #working: Promise<unknown> = Promise.resolve();
  #round = 0;

  /** `at`: the sidecar's address, e.g. `127.0.0.1:8081`. */
  constructor(at: string) {
    this.#at = at;
  }

  start(): void {
    const over = (work: () => Promise<void>) => this.#repeat(work);
    this.#working = Promise.all([over(() => this.#call()), this.#poll(), this.#watch()]);
  }

  /** Rejects with the first error. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#working;
  }

  async #repeat(work: () => Promise<void>): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      await work();
      await wait(PAUSE_MS);
    }
  }

  async #call(): Promise<void> {
    this.#round += 1;
    await this.#send('POST', '/rpc/E.Demo/Run', `user${this.#round}`);
    await this.#send('POST', '/rpc/E.Demo/Fail');
    await this.#send('POST', '/rpc/E.Demo/Missing');
    await this.#send('GET', '/sba/E.Report/Make');
    await this.#send('GET', '/object/H.Temp');
  }

  async #send(method: 'GET' | 'POST', path: string, user?: string): Promise<void> {
    const headers = user === undefined ? {} : { authorization: basic(user, 'secret') };
    const { body } = await request(`http://${this.#at}${REST}${path}`, { method, headers });
    await body.dump();
  }

  /** A browser by long-polling. */
  async #poll(): Promise<void> {
    const exchange = async (messages: readonly object[]) => {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify(messages);
      const answer = await request(`http://${this.#at}${COMET}`, { method: 'POST', headers, body });
      return (await answer.body.json()) as { clientId?: string }[];
    };
    const [{ clientId } = {}] = await exchange([handshake('long-polling')]);
    await exchange([{ channel: '/meta/subscribe', id: 's', clientId, subscription: CHANNEL }]);
    await this.#repeat(async () => {
      const call = { channel: '/service/d2/rpc', id: 'r', clientId, data: { eventName: 'E.Comet', rpcName: 'Run' } };
      await exchange([call]);
      await exchange([{ channel: '/meta/connect', id: 'c', clientId, connectionType: 'long-polling' }]);
    });
  }

  /** A browser by WebSocket. */
  async #watch(): Promise<void> {
    const socket = new WebSocket(`ws://${this.#at}${COMET}`);
    const closed = new Promise<void>((resolve, reject) => socket.on('close', () => resolve()).on('error', reject));
    this.#stopping.signal.addEventListener('abort', () => socket.close());
    socket.on('open', () => socket.send(JSON.stringify([handshake('websocket')])));
    let clientId: string | undefined;
    socket.on('message', (text) => {
      const messages = JSON.parse(String(text)) as { channel: string; clientId?: string }[];
      const welcome = messages.find(({ channel }) => channel === '/meta/handshake');
      if (welcome !== undefined) {
        clientId = welcome.clientId;
        socket.send(JSON.stringify([{ channel: '/meta/subscribe', id: 's', clientId, subscription: CHANNEL }]));
      } else if (!this.#stopping.signal.aborted) {
        socket.send(JSON.stringify([{ channel: '/meta/connect', id: 'c', clientId, connectionType: 'websocket' }]));
      }
    });
    await closed;
  }
}

function handshake(type: string): object {
  return { channel: '/meta/handshake', id: 'h', version: '1.0', supportedConnectionTypes: [type] };
}
