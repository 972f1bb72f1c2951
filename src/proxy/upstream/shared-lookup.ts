import dns from 'node:dns';
import type { LookupFunction } from 'node:net';

type Callback = Parameters<LookupFunction>[2];

/**
 * Resolves the upstream's name like the system (`getaddrinfo`: hosts file, resolver, search domains), with one query
 * per name at a time. Callers during a query share its answer. Answers are not cached.
 *
 * With a silent resolver each query takes 10 s and more, whatever the time limit of its connection, and Node runs only
 * two at a time. Without sharing, the queries of several minutes would have to fail before a recovered resolver could
 * answer one.
 */
export class SharedLookup {
  readonly #waiting = new Map<string, Callback[]>();

  get running(): number {
    return this.#waiting.size;
  }

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
