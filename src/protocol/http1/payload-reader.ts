import { ChunkedReader } from './chunked.ts';
import type { Framing } from './framing.ts';

/**
 * Reports the payload of one body, in pieces and without chunk framing, while the body passes unchanged. It runs
 * after a `BodyReader`, which has found the body's end in the same bytes and refused malformed ones. Created only for
 * bodies that have an observer.
 */
export class PayloadReader {
  readonly #chunked: ChunkedReader | undefined;
  readonly #onPayload: (bytes: Buffer) => void;
  #bytes: Buffer | undefined;

  /** `onPayload` gets views of the bytes, never empty ones. `maxTrailerBytes` as for the `BodyReader`. */
  constructor(framing: Framing, maxTrailerBytes: number, onPayload: (bytes: Buffer) => void) {
    this.#chunked = framing.kind === 'chunked' ? new ChunkedReader(maxTrailerBytes) : undefined;
    this.#onPayload = onPayload;
  }

  /** Reads the next bytes: everything from `from` to `to` is body, framing included. */
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
