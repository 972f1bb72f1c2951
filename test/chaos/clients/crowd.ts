/** All clients of a run: they start together and stop together, and each of their calls becomes exactly one entry. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../support/fuzz/random.ts';
import type { Book } from '../accounts/book.ts';
import { planCall } from '../truth/call-plan.ts';
import { planSocket } from '../truth/socket-plan.ts';
import { UNCONNECTED } from './attempt.ts';
import { CallAttempt } from './call-attempt.ts';
import { Connection } from './connection.ts';
import { SocketAttempt } from './socket-attempt.ts';

export type ClientKind = 'call' | 'poll' | 'socket';

export interface CrowdParts {
  readonly seed: number;
  readonly port: number;
  readonly size: Readonly<Record<ClientKind, number>>;
  readonly random: Random;
  readonly lifeOf: () => number;
  readonly book: Book;
}

const THINK_MS = 300;
/** Pause after a refused connection, so that a sidecar that is down is not called a thousand times a second. */
const RETRY_MS = 200;
const LETTERS = {
  chaos: { call: 'r', poll: 'p', socket: 's' },
  calm: { call: 'q', poll: 'o', socket: 't' },
} as const;

export class Crowd {
  readonly #parts: CrowdParts;
  #isStopping = false;
  #running: Promise<unknown> | undefined;
  #issued = 0;
  #mode: 'calm' | 'chaos' = 'calm';

  constructor(parts: CrowdParts) {
    this.#parts = parts;
  }

  begin(mode: 'calm' | 'chaos'): void {
    this.#mode = mode;
    if (this.#running !== undefined) return;
    this.#isStopping = false;
    const kinds = ['call', 'poll', 'socket'] as const;
    const clients = kinds.flatMap((kind) => Array.from({ length: this.#parts.size[kind] }, () => this.#run(kind)));
    this.#running = Promise.all(clients);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#running;
    this.#running = undefined;
  }

  /** A client that makes calls in sequence, over one connection as long as that lasts. */
  async #run(kind: ClientKind): Promise<void> {
    let connection: Connection | undefined;
    while (!this.#isStopping) {
      this.#issued += 1;
      const id = `${LETTERS[this.#mode][kind]}${this.#issued}`;
      this.#parts.book.sent(id);
      const beganMs = performance.now();
      connection = await this.#reopen(connection);
      const outcome = await this.#attempt(kind, id, connection, beganMs);
      if (outcome === 'unconnected') await sleep(RETRY_MS);
      // A poll that is held is a pause itself.
      if (kind !== 'poll' || outcome === 'problem')
        await sleep(this.#isStopping ? 0 : this.#parts.random.below(THINK_MS));
    }
    this.#leave(connection);
  }

  async #attempt(kind: ClientKind, id: string, connection: Connection | undefined, beganMs: number) {
    const { seed, book } = this.#parts;
    const before = connection?.lastId;
    if (connection !== undefined) connection.lastId = id;
    const stopping = () => this.#isStopping;
    const attempt = (on: Connection) =>
      kind === 'socket'
        ? new SocketAttempt(on, planSocket(seed, id), seed, stopping)
        : new CallAttempt(on, planCall(seed, id), seed);
    const result = connection === undefined ? UNCONNECTED : await attempt(connection).run();
    const times = { beganMs, endedMs: performance.now() };
    const entryKind = kind === 'socket' ? kind : planCall(seed, id).kind;
    book.over({ ...result, ...times, id, kind: entryKind, life: connection?.life, before });
    return result.outcome;
  }

  /** The kept connection if it is usable, otherwise a new one; undefined when that is refused. */
  async #reopen(kept: Connection | undefined): Promise<Connection | undefined> {
    if (kept !== undefined && !kept.isOver && !kept.socket.destroyed && kept.strayBytes === 0) return kept;
    this.#leave(kept);
    const connection = await Connection.open(this.#parts.port, this.#parts.lifeOf);
    if (connection !== undefined) this.#parts.book.connected(connection.life);
    return connection;
  }

  #leave(connection: Connection | undefined): void {
    if (connection === undefined) return;
    if (connection.strayBytes > 0) this.#parts.book.stray(connection.lastId ?? '-', connection.strayBytes);
    connection.leave(false);
  }
}
