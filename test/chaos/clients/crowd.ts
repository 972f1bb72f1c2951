/** All clients of a run: they start together and stop together, and each of their calls becomes exactly one entry. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Book } from '../accounts/book.ts';
import { planCall } from '../truth/call-plan.ts';
import { randomOf } from '../truth/pattern.ts';
import { planSocket } from '../truth/socket-plan.ts';
import { UNCONNECTED } from './attempt.ts';
import { CallAttempt } from './call-attempt.ts';
import { Connection } from './connection.ts';
import { SocketAttempt } from './socket-attempt.ts';

const THINK_MS = 300;
/** Pause after a refused connection, so that a sidecar that is down is not called a thousand times a second. */
const RETRY_MS = 200;
/** How many clients make calls, polls and WebSockets, and the letters of their ids. */
const KINDS = [
  { count: 90, letter: 'r' },
  { count: 80, letter: 'p' },
  { count: 30, letter: 's' },
];

export class Crowd {
  readonly #seed: number;
  readonly #port: number;
  readonly #book: Book;
  #isStopping = false;
  #running: Promise<unknown> | undefined;
  #issued = 0;

  constructor(seed: number, port: number, book: Book) {
    this.#seed = seed;
    this.#port = port;
    this.#book = book;
  }

  begin(): void {
    if (this.#running !== undefined) return;
    this.#isStopping = false;
    this.#running = Promise.all(
      KINDS.flatMap(({ count, letter }) => Array.from({ length: count }, () => this.#run(letter))),
    );
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#running;
    this.#running = undefined;
  }

  /** A client that makes calls in sequence, over one connection as long as that lasts. */
  async #run(letter: string): Promise<void> {
    let connection: Connection | undefined;
    while (!this.#isStopping) {
      this.#issued += 1;
      const id = `${letter}${this.#issued}`;
      this.#book.sent(id);
      const beganMs = performance.now();
      connection = await this.#reopen(connection);
      const outcome = await this.#attempt(id, connection, beganMs);
      if (outcome === 'unconnected') await sleep(RETRY_MS);
      // A poll that is held is a pause itself.
      const isPause = letter === 'p' && outcome !== 'problem';
      if (!isPause && !this.#isStopping) await sleep(randomOf(this.#seed, `${id} pause`).below(THINK_MS));
    }
    this.#leave(connection);
  }

  async #attempt(id: string, connection: Connection | undefined, beganMs: number) {
    const plan = id.startsWith('s') ? undefined : planCall(this.#seed, id);
    const before = connection?.lastId;
    if (connection !== undefined) connection.lastId = id;
    const attempt = (on: Connection) =>
      plan === undefined
        ? new SocketAttempt(on, planSocket(this.#seed, id), this.#seed, () => this.#isStopping)
        : new CallAttempt(on, plan, this.#seed);
    const result = connection === undefined ? UNCONNECTED : await attempt(connection).run();
    const about = { id, kind: plan?.kind ?? ('socket' as const), life: connection?.life, before };
    this.#book.over({ ...result, ...about, beganMs, endedMs: performance.now() });
    return result.outcome;
  }

  /** The kept connection if it is usable, otherwise a new one; undefined when that is refused. */
  async #reopen(kept: Connection | undefined): Promise<Connection | undefined> {
    if (kept !== undefined && !kept.isOver && !kept.socket.destroyed && kept.strayBytes === 0) return kept;
    this.#leave(kept);
    const connection = await Connection.open(this.#port, () => this.#book.life);
    if (connection !== undefined) this.#book.lifeTally(connection.life).connected += 1;
    return connection;
  }

  #leave(connection: Connection | undefined): void {
    if (connection === undefined) return;
    const { strayBytes, lastId } = connection;
    if (strayBytes > 0) this.#book.differ('wrong bytes', `${strayBytes} bytes behind the end of ${lastId}`);
    connection.leave(false);
  }
}
