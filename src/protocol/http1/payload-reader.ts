import { ChunkedReader } from './chunked.ts';
import type { Framing } from './framing.ts';

/**
 * Hands out the payload of one body, in pieces and without chunk framing, while the body passes on as it came. Follows a
 * `BodyReader`, which has found the body's end in the same bytes and refused what is malformed; made only for bodies that
 * somebody reads.
 */
export class PayloadReader {
  readonly #chunked: ChunkedReader | undefined;
  readonly #onPayload: (bytes: Buffer) => void;
  #bytes: Buffer | undefined;

  /** `onPayload` is given views of what was read, never empty ones. `maxTrailerBytes` as for the `BodyReader`. */
  constructor(framing: Framing, maxTrailerBytes: number, onPayload: (bytes: Buffer) => void) {
    this.#chunked = framing.kind === 'chunked' ? new ChunkedReader(maxTrailerBytes) : undefined;
    this.#onPayload = onPayload;
  }

  /** Reads on: from `from` to `to` all is body, framing included. */
  read(bytes: Buffer, from: number, to: number): void {
    if (from === to) return;
    this.#bytes = bytes;
    if (this.#chunked === undefined) this.#onData(from, to);
    else this.#chunked.read(bytes, from, to, this.#onData);
    this.#bytes = undefined;
  }

  readonly #onData = (from: number, to: number): void => {
    if (this.#bytes !== undefined) this.#onPayload(this.#bytes.subarray(from, to));
  };
}
