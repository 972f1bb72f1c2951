import type { Entry, Outcome } from '../accounts/entry.ts';
import type { Connection, Listener } from './connection.ts';

/** Far longer than anything in a run takes, even on a busy machine. */
const PATIENCE_MS = 30_000;

export type Result = Omit<Entry, 'id' | 'kind' | 'life' | 'before' | 'beganMs' | 'endedMs'>;

export const UNCONNECTED: Result = {
  ...{ outcome: 'unconnected', reason: '', status: 0, wrong: undefined, wasCut: false },
  ...{ hasAnswerBegun: false, isHeadSent: false, isRequestSent: false, sentMessages: 0, echoes: 0 },
};

/** One planned exchange over one connection, from its beginning to the one ending that counts. */
export abstract class Attempt implements Listener {
  protected readonly connection: Connection;
  protected outcome: Outcome | undefined;
  #reason = '';
  #end!: () => void;
  readonly #ended = new Promise<void>((resolve) => {
    this.#end = resolve;
  });

  constructor(connection: Connection) {
    this.connection = connection;
  }

  async run(): Promise<Result> {
    this.connection.listener = this;
    const timer = setTimeout(() => this.finish('hung', `for ${PATIENCE_MS} ms`), PATIENCE_MS);
    // A connection that breaks during a write ends this through its 'close'.
    await this.send().catch((cause: Error) => this.finish('failed', cause.message));
    await this.#ended;
    clearTimeout(timer);
    this.connection.listener = undefined;
    this.close();
    return { ...UNCONNECTED, ...this.seen, outcome: this.outcome ?? 'hung', reason: this.#reason };
  }

  abstract onBytes(chunk: Buffer): void;
  abstract onEnd(): void;
  abstract onClosed(cause: NodeJS.ErrnoException | undefined): void;
  protected abstract send(): Promise<void>;
  /** Closes the connection unless another attempt may use it. */
  protected abstract close(): void;
  protected abstract get seen(): Partial<Result>;

  protected leave(reason: string, byReset: boolean): void {
    if (this.outcome !== undefined) return;
    this.finish('aborted', reason);
    this.connection.leave(byReset);
  }

  protected finish(outcome: Outcome, reason: string): void {
    if (this.outcome !== undefined) return;
    this.outcome = outcome;
    this.#reason = reason;
    this.#end();
  }
}
