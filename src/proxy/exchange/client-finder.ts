import type { AddressRanges } from '../../base/address.ts';
import { type ClientField, clientAddressOf } from '../../protocol/http1/client-address.ts';
import { detached } from '../../protocol/http1/text.ts';
import type { ClientConnection, RequestHead } from './exchange.ts';

export type ClientFinder = (request: RequestHead, connection: ClientConnection) => ClientConnection;

/**
 * Finds the client of a request that came from a trusted proxy (`listen.trustedProxies`) by the proxy's field:
 * `connection` itself if that names none.
 */
export function createClientFinder(field: ClientField, trusted: AddressRanges): ClientFinder {
  return (request, connection) => {
    const address = clientAddressOf(field, request.fields(field), trusted);
    // Sessions keep the address after the head is released.
    return address === undefined ? connection : { ...connection, remoteAddress: detached(address) };
  };
}
