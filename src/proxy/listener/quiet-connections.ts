import { type Clock, NS_PER_MS } from '../../base/clock.ts';

export interface ClosableConnection {
  readonly isIdle: boolean;
  readonly bytesRead: number;
  closeIfIdle(): void;
}

/** Samples connections to distinguish unused ones from those whose clients only pause between two requests. */
export class QuietConnections {
  readonly #clock: Clock;
  readonly #samples = new WeakMap<ClosableConnection, { readonly bytesRead: number; readonly sinceNs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Samples all connections. Call it at least once before the first `close`, as early as possible. */
  sample(connections: Iterable<ClosableConnection>): void {
    for (const connection of connections) this.#quietNs(connection);
  }

  close(connections: Iterable<ClosableConnection>, quietMs: number): void {
    for (const connection of connections) {
      const quietNs = this.#quietNs(connection);
      if (connection.isIdle && quietNs >= quietMs * NS_PER_MS) connection.closeIfIdle();
    }
  }

  #quietNs(connection: ClosableConnection): number {
    const nowNs = this.#clock.nowNs();
    const { bytesRead, isIdle } = connection;
    const last = this.#samples.get(connection);
    // A running request is not quiet, though its client may send nothing until the answer.
    if (isIdle && last?.bytesRead === bytesRead) return nowNs - last.sinceNs;
    this.#samples.set(connection, { bytesRead, sinceNs: nowNs });
    return 0;
  }
}
