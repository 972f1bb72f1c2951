import dns from 'node:dns';
import type { LookupFunction } from 'node:net';

type Callback = Parameters<LookupFunction>[2];

/**
 * Resolves the upstream's name as the system does (`getaddrinfo`: hosts file, resolver, search domains), one question at a time:
 * who asks while it is under way gets the same answer. Nothing is kept once it is there.
 *
 * A resolver that is silent lets each question wait for 10 s and more, whatever the time limit of the connection that asked, and
 * Node asks two at a time. So without this the questions of some minutes would have to be asked in vain before a resolver that
 * is back again could help anybody.
 */
export class SharedLookup {
  readonly #waiting = new Map<string, Callback[]>();

  /** Questions under way. */
  get running(): number {
    return this.#waiting.size;
  }

  /** For `net.connect`. */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    const key = `${hostname} ${options.family ?? 0} ${options.hints ?? 0} ${options.all === true}`;
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) {
      waiting.push(callback);
      return;
    }
    const callbacks = [callback];
    this.#waiting.set(key, callbacks);
    const answer: Callback = (...answers) => {
      this.#waiting.delete(key);
      for (const each of callbacks) each(...answers);
    };
    dns.lookup(hostname, options, answer);
  };
}
