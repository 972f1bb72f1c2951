import { type Clock, NS_PER_MS } from '../../base/clock.ts';

/** A client's connection, on whichever path. */
export interface ClosableConnection {
  readonly isIdle: boolean;
  /** Grows with whatever comes from the client. */
  readonly bytesRead: number;
  closeIfIdle(): void;
}

interface Look {
  readonly bytesRead: number;
  readonly sinceNs: number;
}

/** Tells connections that nobody uses from those whose clients only pause between two requests, by looking at them now and then. */
export class QuietConnections {
  readonly #clock: Clock;
  readonly #looks = new WeakMap<ClosableConnection, Look>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Looks at all; to be called once before the first `close`, the earlier the better. */
  look(connections: Iterable<ClosableConnection>): void {
    for (const connection of connections) this.#quietNs(connection);
  }

  /** Closes what is idle and has been quiet for that long: as far as it has been looked at. */
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
    // A running request is no silence, though nothing may come from the client until its answer.
    if (isIdle && last?.bytesRead === bytesRead) return nowNs - last.sinceNs;
    this.#looks.set(connection, { bytesRead, sinceNs: nowNs });
    return 0;
  }
}
