import { type AddressRanges, isPrivate } from '../../base/address.ts';
import { MS_PER_S, NS_PER_MS } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { type ClientField, clientAddressOf } from '../../protocol/http1/client-address.ts';
import { detached } from '../../protocol/http1/text.ts';
import type { ClientConnection, Exchange, RequestHead } from './exchange.ts';

export type ClientFinder = (request: RequestHead, connection: ClientConnection) => ClientConnection;

/** Finds the client that a trusted proxy names in its field of a request; `connection` itself if it names none. */
export function createClientFinder(field: ClientField, trusted: AddressRanges): ClientFinder {
  return (request, connection) => {
    const address = clientAddressOf(field, request.fields(field), trusted);
    // Sessions keep the address after the head is released.
    return address === undefined ? connection : { ...connection, remoteAddress: detached(address) };
  };
}

const HOUR_NS = 3_600 * MS_PER_S * NS_PER_MS;
/** After this many changes of the address the search ends: the requests come from several clients. */
const MAX_RESTARTS = 100;

/** Call it with each request. Returns false when the search has ended: do not call it again. */
export type ProxyHint = (exchange: Exchange, request: RequestHead) => boolean;

/**
 * Logs once that a proxy is missing in `listen.trustedProxies`: for an hour, all requests came from one private address
 * and had X-Forwarded-For.
 */
export function createProxyHint(logger: Logger): ProxyHint {
  let address: string | undefined;
  let sinceNs = 0;
  let restarts = 0;
  return ({ client: { remoteAddress }, beganNs }, request) => {
    const isAlike = request.field('x-forwarded-for') !== undefined;
    if (!isAlike || remoteAddress !== address) {
      address = isAlike && isPrivate(remoteAddress) ? remoteAddress : undefined;
      sinceNs = beganNs;
      restarts += 1;
      return restarts < MAX_RESTARTS;
    }
    if (beganNs - sinceNs < HOUR_NS) return true;
    logger.warn(
      { address },
      'all requests of the last hour came from one private address, with X-Forwarded-For: if it is a proxy of yours, list it in listen.trustedProxies to see the addresses of its clients (docs/front-proxies.md)',
    );
    return false;
  };
}
