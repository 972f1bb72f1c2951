import { PAUSING_BYTES, type StalledWrites, type StallingConnection } from '../../limits/stalled-writes.ts';
import type { ResponseReader } from '../../protocol/http1/response-reader.ts';
import { READ_BUFFER_BYTES } from '../upstream/read-buffer.ts';
import type { ClientLink } from './client-link.ts';
import type { UpstreamLink } from './upstream-link.ts';

/** What a relayed connection keeps: unsent bytes both ways, and the beginning of an answer's head. */
export class StalledLinks implements StallingConnection {
  readonly #stalled: StalledWrites;
  readonly #toClient: ClientLink;
  readonly #toUpstream: UpstreamLink;
  readonly #response: Pick<ResponseReader, 'keptBytes'>;
  readonly #onTooLong: () => void;

  /** `onTooLong` must reset the client's connection. */
  constructor(
    stalled: StalledWrites,
    [toClient, toUpstream]: readonly [ClientLink, UpstreamLink],
    response: Pick<ResponseReader, 'keptBytes'>,
    onTooLong: () => void,
  ) {
    this.#stalled = stalled;
    this.#toClient = toClient;
    this.#toUpstream = toUpstream;
    this.#response = response;
    this.#onTooLong = onTooLong;
  }

  check(): void {
    this.#stalled.check(this);
  }

  remove(): void {
    this.#stalled.remove(this);
  }

  /** The paused side also holds one read. */
  get stalledBytes(): number {
    const unsentBytes = this.#toClient.unsentBytes + this.#toUpstream.unsentBytes + this.#response.keptBytes;
    return unsentBytes < PAUSING_BYTES ? unsentBytes : unsentBytes + READ_BUFFER_BYTES;
  }

  get sentBytes(): number {
    return this.#toClient.sentBytes + this.#toUpstream.sentBytes;
  }

  onStalledTooLong(): void {
    this.#onTooLong();
  }
}
