/** The calls of honest users. All reject for any answer except 200, and for none. */
import { once } from 'node:events';
import type http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { send } from '../../support/net.ts';
import { COMET_PATH, HONEST_CREDENTIAL, HONEST_OBJECTS, OBJECT_PREFIX, USERS_ADDRESS } from '../plant.ts';

/** A call without an answer by then has failed. */
const TIMEOUT_MS = 30_000;
const PAUSE_AFTER_FAILURE_MS = 100;

/** Where a user calls, and over which connection; `agent` false: a new one. */
export interface Line {
  readonly port: number;
  readonly isTls: boolean;
  readonly agent: http.Agent | false;
}

export function post(line: Line, path: string, body: string): Promise<string> {
  const headers = { Authorization: HONEST_CREDENTIAL, 'Content-Type': 'application/json' };
  return call(line, path, { method: 'POST', headers, body });
}

export async function call({ port, isTls, agent }: Line, path: string, options: Parameters<typeof send>[2]) {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const connection = { agent, signal, localAddress: USERS_ADDRESS, rejectUnauthorized: false };
  const answer = await send(port, path, { ...connection, protocol: isTls ? 'https:' : 'http:', ...options });
  if (answer.status !== 200) throw new Error(`answered ${answer.status}`);
  return answer.body;
}

export async function openChannel({ port, isTls }: Line) {
  const socket = new WebSocket(`${isTls ? 'wss' : 'ws'}://127.0.0.1:${port}${COMET_PATH}`, {
    headers: { Authorization: HONEST_CREDENTIAL },
    localAddress: USERS_ADDRESS,
    perMessageDeflate: false,
    rejectUnauthorized: false,
  });
  await once(socket, 'open');
  const closed = new AbortController();
  socket.on('error', () => socket.terminate()).on('close', () => closed.abort());
  return {
    ask: async (text: string): Promise<string> => {
      const signal = AbortSignal.any([closed.signal, AbortSignal.timeout(TIMEOUT_MS)]);
      const answer = once(socket, 'message', { signal });
      if (!signal.aborted) socket.send(text);
      return String((await answer)[0]);
    },
    close: () => socket.terminate(),
  };
}

interface Reply {
  readonly channel?: string;
  readonly clientId?: string;
  readonly successful?: boolean;
}

export class CometUser {
  values = 0;
  isOn = true;
  readonly #transport: string;
  readonly #ask: (text: string) => Promise<string>;
  readonly #fail: (cause: Error) => void;
  #clientId: string | undefined;

  constructor(
    transport: 'long-polling' | 'websocket',
    ask: (text: string) => Promise<string>,
    fail: (cause: Error) => void,
  ) {
    this.#transport = transport;
    this.#ask = ask;
    this.#fail = fail;
  }

  async connect(): Promise<void> {
    const supportedConnectionTypes = [this.#transport];
    const [hello] = await this.#send({ channel: '/meta/handshake', version: '1.0', supportedConnectionTypes });
    this.#clientId = hello?.clientId;
    const subscription = HONEST_OBJECTS.map((name) => `${OBJECT_PREFIX}${name}`);
    const [subscribed] = await this.#send({ channel: '/meta/subscribe', subscription });
    if (subscribed?.successful !== true) throw new Error('the honest Comet user was refused');
  }

  async poll(): Promise<void> {
    while (this.isOn) {
      try {
        const replies = await this.#send({ channel: '/meta/connect', connectionType: this.#transport });
        this.values += replies.filter(({ channel }) => channel?.startsWith(OBJECT_PREFIX)).length;
      } catch (cause) {
        this.#fail(cause as Error);
        await sleep(PAUSE_AFTER_FAILURE_MS);
      }
    }
  }

  async #send(message: Readonly<Record<string, unknown>>): Promise<readonly Reply[]> {
    const body = JSON.stringify([{ id: '1', ...message, ...(this.#clientId && { clientId: this.#clientId }) }]);
    return JSON.parse(await this.#ask(body)) as Reply[];
  }
}
