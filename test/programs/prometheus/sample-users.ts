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

  constructor(at: string) {
    this.#at = at;
  }

  start(): void {
    this.#working = Promise.all([this.#call(), this.#poll(), this.#watch()]);
  }

  /** Rejects with the first error. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#working;
  }

  async #repeat(work: () => Promise<unknown>): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      await work();
      await wait(PAUSE_MS);
    }
  }

  async #call(): Promise<void> {
    let round = 0;
    const send = async (method: 'GET' | 'POST', path: string, headers = {}) => {
      const { body } = await request(`http://${this.#at}${REST}${path}`, { method, headers });
      await body.dump();
    };
    await this.#repeat(async () => {
      round += 1;
      await send('POST', '/rpc/E.Demo/Run', { authorization: basic(`user${round}`, 'secret') });
      for (const path of ['/rpc/E.Demo/Fail', '/rpc/E.Demo/Missing']) await send('POST', path);
      for (const path of ['/sba/E.Report/Make', '/object/H.Temp']) await send('GET', path);
    });
  }

  async #poll(): Promise<void> {
    const exchange = async (message: object) => {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify([message]);
      const answer = await request(`http://${this.#at}${COMET}`, { method: 'POST', headers, body });
      return (await answer.body.json()) as { clientId?: string }[];
    };
    const [{ clientId } = {}] = await exchange(handshake('long-polling'));
    await exchange({ channel: '/meta/subscribe', id: 's', clientId, subscription: CHANNEL });
    const data = { eventName: 'E.Comet', rpcName: 'Run' };
    await this.#repeat(async () => {
      await exchange({ channel: '/service/d2/rpc', id: 'r', clientId, data });
      await exchange({ channel: '/meta/connect', id: 'c', clientId, connectionType: 'long-polling' });
    });
  }

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
