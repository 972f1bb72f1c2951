import type { LimitHits } from '../../limits/limit-hits.ts';
import { type HeadWaiter, RequestAccount, type RequestMemory } from '../../limits/request-memory.ts';
import type { RequestReader } from '../../protocol/http1/request-reader.ts';

/** What a client has sent ahead of its current answer, charged to the memory budget. */
export class RequestsAhead {
  readonly #request: RequestReader;
  readonly #account: RequestAccount;
  readonly #hits: LimitHits;
  /** Without memory for them they are dropped, and the client gets 503 after the current answer. */
  isOverfull = false;

  constructor(request: RequestReader, memory: RequestMemory, hits: LimitHits) {
    this.#request = request;
    this.#account = new RequestAccount(memory);
    this.#hits = hits;
  }

  get isCharged(): boolean {
    return this.#account.bytes > 0;
  }

  /**
   * Copies what lies in `shared` memory and charges it. `waiter`: of the head, on an idle connection; false if there is
   * no memory for that.
   */
  keep(waiter: HeadWaiter | undefined, shared?: Buffer): boolean {
    this.#request.copyIfShared(shared);
    if (this.#account.keep(this.#request.keptBytes, waiter)) return true;
    if (waiter !== undefined) return false;
    this.#hits.hit('limits.memoryBytes');
    this.clear();
    this.isOverfull = true;
    return true;
  }

  /** Nothing is kept any more, since all is read. */
  release(): void {
    this.#account.keep(0);
  }

  clear(): void {
    this.#request.clear();
    this.#account.keep(0);
  }

  /** Whether the client must not be read until the current answer is over. */
  isTooFar(maxBytes: number): boolean {
    const { length } = this.#request.unread;
    return length === 0 ? this.isOverfull : length > maxBytes;
  }
}
