import { PAUSING_BYTES, type StalledWrites, type StallingConnection } from '../../limits/stalled-writes.ts';
import { READ_BUFFER_BYTES } from '../upstream/read-buffer.ts';
import type { ClientLink } from './client-link.ts';
import type { UpstreamLink } from './upstream-link.ts';

/** The unsent bytes of a relayed connection, both ways. */
export class StalledLinks implements StallingConnection {
  readonly #stalled: StalledWrites;
  readonly #toClient: ClientLink;
  readonly #toUpstream: UpstreamLink;
  readonly #onTooLong: () => void;

  /** `onTooLong` must reset the client's connection. */
  constructor(stalled: StalledWrites, toClient: ClientLink, toUpstream: UpstreamLink, onTooLong: () => void) {
    this.#stalled = stalled;
    this.#toClient = toClient;
    this.#toUpstream = toUpstream;
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
    const unsentBytes = this.#toClient.unsentBytes + this.#toUpstream.unsentBytes;
    return unsentBytes < PAUSING_BYTES ? unsentBytes : unsentBytes + READ_BUFFER_BYTES;
  }

  get sentBytes(): number {
    return this.#toClient.sentBytes + this.#toUpstream.sentBytes;
  }

  onStalledTooLong(): void {
    this.#onTooLong();
  }
}
