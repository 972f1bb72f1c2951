/** Paced load: a rate of requests over kept connections, some aborted by their clients, and polls held all the time. */
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { COMET_PATH, HOLD_FIELD } from '../../bench/load/answers.ts';
import { connect, exchange, toRequest } from '../../bench/load/small-client.ts';
import { reset } from '../../support/load/sockets.ts';
import { randomOf } from '../truth/pattern.ts';

/** Requests a second, polls that are held, and the share of requests that are aborted. */
const [RATE, POLLS, ABORTS] = [1_000, 500, 0.01];
const USERS = 200;
const NAMES = 300;
/** Users call their own procedures. If every user called all of them, 40,000 timers would keep filling for the half hour. */
const NAMES_OF_USER = 10;
const TICK_MS = 10;
const MOST_HELD_MS = 40_000;
const LEAST_HELD_MS = 10_000;
/** Duration of a call whose client aborts. */
const ABORTED_AFTER_MS = 1_000;
/** More waiting requests than this mean that the sidecar does not keep up; it is not a burst. */
const MOST_CONNECTIONS = 200;

export class Load {
  /** `skipped`: due but not made, since all connections were busy. `released`: polls that were answered. */
  readonly counts = { answered: 0, aborted: 0, failed: 0, skipped: 0, released: 0 };
  readonly #port: number;
  readonly #random = randomOf(1, 'soak');
  readonly #idle: net.Socket[] = [];
  readonly #polling: Record<number, net.Socket> = {};
  #connections = 0;
  #isOver = false;

  constructor(port: number) {
    this.#port = port;
  }

  async run(): Promise<void> {
    const held = Array.from({ length: POLLS }, (_, i) => this.#poll(i));
    const running = new Set<Promise<void>>();
    const beganMs = performance.now();
    let made = 0;
    while (!this.#isOver) {
      const due = Math.floor(((performance.now() - beganMs) / 1_000) * RATE);
      for (; made < due; made += 1) {
        const call = this.#call().finally(() => running.delete(call));
        running.add(call);
      }
      await sleep(TICK_MS);
    }
    await Promise.all([...running, ...held]);
    for (const client of this.#idle) client.destroy();
  }

  /** Aborts held polls; running requests finish. */
  stop(): void {
    this.#isOver = true;
    for (const client of Object.values(this.#polling)) client.destroy();
  }

  async #call(): Promise<void> {
    if (this.#random.chance(ABORTS)) return await this.#leave();
    // The longest idle connection, so that none is closed for idleness.
    const kept = this.#idle.shift();
    if (kept === undefined && this.#connections >= MOST_CONNECTIONS) {
      this.counts.skipped += 1;
      return;
    }
    if (kept === undefined) this.#connections += 1;
    try {
      const client = kept ?? (await connect(this.#port));
      await exchange(client, this.#rpcRequest());
      this.counts.answered += 1;
      this.#idle.push(client);
    } catch {
      this.counts.failed += 1;
      this.#connections -= 1;
    }
  }

  /** A slow call, aborted before its answer; half of them by a reset. */
  async #leave(): Promise<void> {
    const random = this.#random;
    this.counts.aborted += 1;
    const socket = net.connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    socket.on('error', () => undefined).on('data', () => undefined);
    socket.write(this.#rpcRequest(holdField(ABORTED_AFTER_MS)));
    await sleep(random.below(ABORTED_AFTER_MS >> 1));
    if (random.chance(0.5)) reset(socket);
    else socket.destroy();
  }

  async #poll(user: number): Promise<void> {
    const random = this.#random;
    // Spread over time, at the start and later.
    await sleep(random.below(2_000));
    const message = { channel: '/meta/connect', clientId: `soak${user}`, connectionType: 'long-polling', id: '1' };
    while (!this.#isOver) {
      const hold = holdField(LEAST_HELD_MS + random.below(MOST_HELD_MS - LEAST_HELD_MS));
      try {
        const client = this.#polling[user] ?? (await connect(this.#port));
        this.#polling[user] = client;
        await exchange(client, toRequest(`POST ${COMET_PATH}`, user % USERS, JSON.stringify([message]), hold));
        this.counts.released += 1;
      } catch {
        if (!this.#isOver) this.counts.failed += 1;
        delete this.#polling[user];
      }
    }
  }

  #rpcRequest(fields = ''): string {
    const user = this.#random.below(USERS);
    const name = (user * NAMES_OF_USER + this.#random.below(NAMES_OF_USER)) % NAMES;
    const line = `POST /smartWeb/api/rest/v0/d2/rpc/E.Soak/Call${name}`;
    return toRequest(line, user, '{"parameters":[{"type":"INT","value":42}]}', fields);
  }
}

function holdField(holdMs: number): string {
  return `${HOLD_FIELD}: ${holdMs}\r\n`;
}
