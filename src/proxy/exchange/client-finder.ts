import type { AddressRanges } from '../../base/address.ts';
import { type ClientField, clientAddressOf } from '../../protocol/http1/client-address.ts';
import { detached } from '../../protocol/http1/text.ts';
import type { ClientConnection, RequestHead } from './exchange.ts';

/** Finds the client of a request that came from a trusted proxy (`listen.trustedProxies`) by the proxy's field. */
export class ClientFinder {
  readonly #field: ClientField;
  readonly #trusted: AddressRanges;

  constructor(field: ClientField, trusted: AddressRanges) {
    this.#field = field;
    this.#trusted = trusted;
  }

  /** `connection` itself if the field names no client. */
  clientOf(request: RequestHead, connection: ClientConnection): ClientConnection {
    const address = clientAddressOf(this.#field, request.fields(this.#field), this.#trusted);
    if (address === undefined) return connection;
    // Sessions keep the address after the head is released.
    return { ...connection, remoteAddress: detached(address) };
  }
}
