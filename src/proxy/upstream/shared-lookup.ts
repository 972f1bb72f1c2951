import dns, { type LookupAddress } from 'node:dns';
import type { LookupFunction, Socket } from 'node:net';
import { type Clock, NS_PER_S } from '../../base/clock.ts';
import { attemptTimeoutMs } from '../../base/dial.ts';

type Callback = Parameters<LookupFunction>[2];

/** How long an address that did not accept in its time is tried last. */
const AVOIDED_NS = 30 * NS_PER_S;

export type DialOptions = ReturnType<SharedLookup['dialOptions']>;

/**
 * Resolves the upstream's name like the system (`getaddrinfo`), with one query per name at a time, whose answer is
 * shared but not cached. With a silent resolver each query takes 10 s and more, and Node runs only two at a time:
 * queries of minutes would have to fail before a recovered resolver could answer one.
 */
export class SharedLookup {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Callback[]>();
  /** Addresses to try last, and until when. */
  readonly #avoided = new Map<string, number>();
  #addresses: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** For a connection that may take `limitMs`: each address gets an equal part of it. Then call `watch`. */
  dialOptions(limitMs: number) {
    return {
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: attemptTimeoutMs(limitMs, this.#addresses),
      lookup: this.lookup,
    };
  }

  /** Without this, each new connection would wait for an address that does not answer. */
  watch(socket: Socket): void {
    // A single address has no time limit of its own.
    if (this.#addresses !== 1) socket.on('connectionAttemptTimeout', this.#avoid);
  }

  readonly #avoid = (address: string): void => {
    this.#avoided.set(address, this.#clock.nowNs() + AVOIDED_NS);
  };

  readonly lookup: LookupFunction = (hostname, options, callback) => {
    const key = `${hostname} ${options.family ?? 0} ${options.hints ?? 0} ${options.all === true}`;
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) {
      waiting.push(callback);
      return;
    }
    const callbacks = [callback];
    this.#waiting.set(key, callbacks);
    const answer: Callback = (error, found, family) => {
      this.#waiting.delete(key);
      const ordered = Array.isArray(found) ? this.#order(found) : found;
      for (const each of callbacks) each(error, ordered, family);
    };
    dns.lookup(hostname, options, answer);
  };

  #order(found: readonly LookupAddress[]): LookupAddress[] {
    this.#addresses = Math.max(1, found.length);
    const nowNs = this.#clock.nowNs();
    for (const [address, untilNs] of this.#avoided) if (untilNs <= nowNs) this.#avoided.delete(address);
    return found.toSorted((a, b) => Number(this.#avoided.has(a.address)) - Number(this.#avoided.has(b.address)));
  }
}
