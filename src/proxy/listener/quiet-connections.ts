import { type Clock, NS_PER_MS } from '../../base/clock.ts';

export interface ClosableConnection {
  readonly isIdle: boolean;
  readonly bytesRead: number;
  closeIfIdle(): void;
}

interface Look {
  readonly bytesRead: number;
  readonly sinceNs: number;
}

/** Distinguishes unused connections from those whose clients only pause between two requests, by sampling them. */
export class QuietConnections {
  readonly #clock: Clock;
  readonly #looks = new WeakMap<ClosableConnection, Look>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Samples all connections. Call once before the first `close`, the earlier the better. */
  look(connections: Iterable<ClosableConnection>): void {
    for (const connection of connections) this.#quietNs(connection);
  }

  /** Closes connections that are idle and have been quiet for `quietMs`, as far as they were sampled. */
  close(connections: Iterable<ClosableConnection>, quietMs: number): void {
    for (const connection of connections) {
      const quietNs = this.#quietNs(connection);
      if (connection.isIdle && quietNs >= quietMs * NS_PER_MS) connection.closeIfIdle();
    }
  }

  #quietNs(connection: ClosableConnection): number {
    const nowNs = this.#clock.nowNs();
    const { bytesRead, isIdle } = connection;
    const last = this.#looks.get(connection);
    // A running request is not quiet, though its client may send nothing until the answer.
    if (isIdle && last?.bytesRead === bytesRead) return nowNs - last.sinceNs;
    this.#looks.set(connection, { bytesRead, sinceNs: nowNs });
    return 0;
  }
}
