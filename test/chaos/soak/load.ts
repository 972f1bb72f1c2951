/** Paced load: a rate of requests over kept connections, some aborted by their clients, and polls held all the time. */
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { COMET_PATH, HOLD_FIELD } from '../../bench/load/answers.ts';
import { connect, exchange, toRequest } from '../../bench/load/small-client.ts';
import type { Random } from '../../support/fuzz/random.ts';
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
  answered = 0;
  aborted = 0;
  failed = 0;
  released = 0;
  /** Requests that were due but not made, since all connections were busy. */
  skipped = 0;
  readonly #port: number;
  readonly #random = randomOf(1, 'soak');
  readonly #idle: net.Socket[] = [];
  #connections = 0;
  #isOver = false;
  #end!: () => void;
  readonly #over = new Promise<false>((resolve) => {
    this.#end = () => resolve(false);
  });

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
    this.#end();
  }

  get summary(): string {
    const { answered, aborted, failed, released, skipped } = this;
    return `${answered} calls answered, ${aborted} aborted, ${failed} failed, ${skipped} not made in time, ${released} polls answered`;
  }

  async #call(): Promise<void> {
    if (this.#random.chance(ABORTS)) return await this.#leave();
    // The longest idle connection, so that none is closed for idleness.
    const client = this.#idle.shift() ?? (await this.#connect());
    if (client === undefined) return;
    try {
      await exchange(client, rpcRequest(this.#random, 0));
      this.answered += 1;
      this.#idle.push(client);
    } catch {
      this.failed += 1;
      this.#connections -= 1;
    }
  }

  /** A slow call, aborted before its answer; half of them by a reset. */
  async #leave(): Promise<void> {
    const random = this.#random;
    this.aborted += 1;
    const socket = net.connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    socket.on('error', () => undefined).on('data', () => undefined);
    socket.write(rpcRequest(random, ABORTED_AFTER_MS));
    await sleep(random.below(ABORTED_AFTER_MS >> 1));
    if (random.chance(0.5)) reset(socket);
    else socket.destroy();
  }

  async #connect(): Promise<net.Socket | undefined> {
    if (this.#connections >= MOST_CONNECTIONS) {
      this.skipped += 1;
      return undefined;
    }
    this.#connections += 1;
    try {
      return await connect(this.#port);
    } catch {
      this.failed += 1;
      this.#connections -= 1;
      return undefined;
    }
  }

  async #poll(user: number): Promise<void> {
    const random = this.#random;
    // Spread over time, at the start and later.
    await sleep(random.below(2_000));
    let client = await connect(this.#port);
    while (!this.#isOver) {
      const holdMs = LEAST_HELD_MS + random.below(MOST_HELD_MS - LEAST_HELD_MS);
      try {
        const released = exchange(client, pollRequest(user, holdMs)).then(() => true);
        if (await Promise.race([released, this.#over])) this.released += 1;
      } catch {
        this.failed += 1;
        client = await connect(this.#port);
      }
    }
    client.destroy();
  }
}

function rpcRequest(random: Random, holdMs: number): string {
  const user = random.below(USERS);
  const name = (user * NAMES_OF_USER + random.below(NAMES_OF_USER)) % NAMES;
  const line = `POST /smartWeb/api/rest/v0/d2/rpc/E.Soak/Call${name}`;
  return toRequest(line, user, '{"parameters":[{"type":"INT","value":42}]}', holdField(holdMs));
}

function pollRequest(user: number, holdMs: number): string {
  const message = { channel: '/meta/connect', clientId: `soak${user}`, connectionType: 'long-polling', id: '1' };
  return toRequest(`POST ${COMET_PATH}`, user % USERS, JSON.stringify([message]), holdField(holdMs));
}

function holdField(holdMs: number): string {
  return holdMs === 0 ? '' : `${HOLD_FIELD}: ${holdMs}\r\n`;
}
