import type { LimitHits } from '../../limits/limit-hits.ts';
import { type HeadWaiter, RequestAccount } from '../../limits/request-memory.ts';
import type { RequestReader } from '../../protocol/http1/request-reader.ts';
import type { TrafficServices } from '../upstream/traffic-services.ts';

/** What a client has sent ahead of its current answer, charged to the memory budget. */
export class RequestsAhead {
  readonly #request: RequestReader;
  readonly #account: RequestAccount;
  readonly #hits: LimitHits;
  readonly #waiter: HeadWaiter;
  /** Without memory for them they are dropped, and the client gets 503 after the current answer. */
  isOverfull = false;

  constructor(request: RequestReader, { requests, reporter }: TrafficServices, waiter: HeadWaiter) {
    this.#request = request;
    this.#account = new RequestAccount(requests);
    this.#hits = reporter.hits;
    this.#waiter = waiter;
  }

  get isCharged(): boolean {
    return this.#account.bytes > 0;
  }

  /** Copies what lies in `shared` memory and charges it. `isHead`: it is the beginning of a head. */
  keep(isHead: boolean, shared?: Buffer): void {
    this.#request.copyIfShared(shared);
    if (this.#account.keep(this.#request.keptBytes, isHead ? this.#waiter : undefined)) return;
    if (isHead) this.#waiter.onHeadEvicted();
    else {
      this.#hits.hit('limits.memoryBytes');
      this.clear();
      this.isOverfull = true;
    }
  }

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
