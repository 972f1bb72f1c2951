import { isPrivate } from '../../base/address.ts';
import { MS_PER_S, NS_PER_MS } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Exchange, RequestHead } from './exchange.ts';

const HOUR_NS = 3_600 * MS_PER_S * NS_PER_MS;
/** After this many changes of the address the search ends: the requests come from several clients. */
const MAX_RESTARTS = 100;

/**
 * Logs once that a proxy is missing in `listen.trustedProxies`: for an hour, all requests came from one private address
 * and had X-Forwarded-For.
 */
export class ProxyHint {
  readonly #logger: Logger;
  #address: string | undefined;
  #sinceNs = 0;
  #restarts = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Call it with each request. Returns false when the search has ended: do not call it again. */
  search({ client, beganNs }: Exchange, request: RequestHead): boolean {
    const { remoteAddress } = client;
    const isAlike = request.field('x-forwarded-for') !== undefined;
    if (!isAlike || remoteAddress !== this.#address) {
      this.#address = isAlike && isPrivate(remoteAddress) ? remoteAddress : undefined;
      this.#sinceNs = beganNs;
      this.#restarts += 1;
      return this.#restarts < MAX_RESTARTS;
    }
    if (beganNs - this.#sinceNs < HOUR_NS) return true;
    this.#logger.warn(
      { address: remoteAddress },
      'all requests of the last hour came from one private address, with X-Forwarded-For: if it is a proxy of yours, list it in listen.trustedProxies to see the addresses of its clients (docs/front-proxies.md)',
    );
    return false;
  }
}
