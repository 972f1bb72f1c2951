import { PhaseTimer } from '../../base/clock.ts';
import { ClientTurn } from '../../limits/heavy-work.ts';
import { RequestAccount } from '../../limits/unfinished-bodies.ts';
import type { Http1RequestHead, RequestFault } from '../../protocol/http1/request-head.ts';
import type { RequestReader } from '../../protocol/http1/request-reader.ts';
import type { RelayServices } from './client-link.ts';

/** Interval between checks of a late head that waits for its turn. */
const LATE_HEAD_MS = 1_000;

export interface RequestsOwner {
  /** The turn of the connection has come: `next` may have a head. */
  onTurn(): void;
  refuseAndClose(status: 408 | 503, limit: 'timeouts.head' | 'limits.memoryBytes'): void;
}

/**
 * What a client has sent of requests that have not begun: the beginning of a head, or pipelined requests. It is charged
 * to the memory budget, and waits for its turn if it is costly to read.
 */
export class ClientRequests {
  readonly #request: RequestReader;
  readonly #services: RelayServices;
  readonly #owner: RequestsOwner;
  readonly #account: RequestAccount;
  readonly turn: ClientTurn;
  readonly #headTimer = new PhaseTimer();
  /** Without memory for them they are dropped, and the client gets 503 after the current answer. */
  isOverfull = false;

  constructor(request: RequestReader, address: string, services: RelayServices, owner: RequestsOwner) {
    this.#request = request;
    this.#services = services;
    this.#owner = owner;
    this.#account = new RequestAccount(services.requests);
    this.turn = new ClientTurn(services.heavy, address, () => owner.onTurn());
  }

  /** The next head; undefined if none is complete, or if it has to wait for its turn. */
  next(): Http1RequestHead | RequestFault | undefined {
    const request = this.#request;
    request.skipEmptyLines();
    if (request.unread.length === 0) {
      // It may run for the start of an empty line.
      this.#headTimer.stop();
      return undefined;
    }
    if (this.turn.mustWait(request.unread.length)) return undefined;
    const head = request.nextHead();
    if (head === undefined) {
      this.#headTimer.startOnce(this.#services.options.headTimeoutMs, this.#onHeadTimeout);
      return undefined;
    }
    this.#headTimer.stop();
    // A handshake costs much more than its head.
    const isCostly = typeof head !== 'string' && head.isWebSocket;
    return isCostly && this.turn.mustWait(request.unread.length, true) ? undefined : head;
  }

  readonly #onHeadTimeout = (): void => {
    // The rest of the head may have come: that is known once it is read.
    if (this.turn.isWaiting) this.#headTimer.start(LATE_HEAD_MS, this.#onHeadTimeout);
    else this.#owner.refuseAndClose(408, 'timeouts.head');
  };

  /**
   * Keeps what is left of a read in `shared` memory. `sinceNs`: of the turn's `beginRead`. `isIdle`: no request is being
   * answered. True if `mustPause` may have changed.
   */
  endRead(sinceNs: number, isIdle: boolean, shared: Buffer | undefined): boolean {
    const isLeft = this.#request.unread.length > 0;
    if (isLeft) this.#keep(isIdle, shared);
    else if (this.#account.bytes > 0) this.#account.keep(0);
    return this.turn.endRead(sinceNs) || isLeft;
  }

  /** Call when a request has been taken, or has ended. */
  recharge(isIdle: boolean): void {
    if (this.#account.bytes > 0) this.#keep(isIdle);
  }

  #keep(isIdle: boolean, shared?: Buffer): void {
    this.#request.copyIfShared(shared);
    if (this.#account.keep(this.#request.keptBytes, isIdle ? this.#onEvicted : undefined)) return;
    if (isIdle) this.#onEvicted();
    else {
      this.#services.reporter.hits.hit('limits.memoryBytes');
      this.#clear();
      this.isOverfull = true;
    }
  }

  readonly #onEvicted = (): void => this.#owner.refuseAndClose(503, 'limits.memoryBytes');

  /** Whether the client must not be read now. `isBusy`: a whole request is being answered. */
  mustPause(isBusy: boolean): boolean {
    const { length } = this.#request.unread;
    const isFull = length === 0 ? this.isOverfull : length > this.#services.options.headBytes;
    return (isBusy && isFull) || this.turn.isWaiting;
  }

  /** Drops everything; no request begins any more. */
  end(): void {
    this.#headTimer.stop();
    this.turn.end();
    this.#clear();
  }

  #clear(): void {
    this.#request.clear();
    this.#account.keep(0);
  }
}
