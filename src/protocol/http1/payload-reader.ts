import { ChunkedReader, type Framing } from './framing.ts';

/** Smaller chunks of one read are joined: a call of the observer costs more than copying this many bytes. */
const SMALL_BYTES = 1_024;

/**
 * Reports the payload of one observed body without its chunk framing, after a `BodyReader` has found the body's end in
 * the same bytes and refused malformed ones.
 */
export class PayloadReader {
  readonly #chunked: ChunkedReader | undefined;
  readonly #onPayload: (bytes: Buffer) => void;
  #bytes: Buffer | undefined;
  /** End of the bytes that are being read. */
  #end = 0;
  /** A small chunk of these bytes that was not reported yet; none if `#smallTo` is 0. */
  #smallFrom = 0;
  #smallTo = 0;
  /** Several small chunks, and their length. */
  #joined: Buffer | undefined;
  #length = 0;

  /** `onPayload` gets views, never empty, valid only during the call. `maxTrailerBytes` as for the `BodyReader`. */
  constructor(framing: Framing, maxTrailerBytes: number, onPayload: (bytes: Buffer) => void) {
    this.#chunked = framing.kind === 'chunked' ? new ChunkedReader(maxTrailerBytes) : undefined;
    this.#onPayload = onPayload;
  }

  /** Reads the next bytes: everything from `from` to `to` is body, framing included. */
  read(bytes: Buffer, from: number, to: number): void {
    if (from === to) return;
    if (this.#chunked === undefined) {
      this.#onPayload(bytes.subarray(from, to));
      return;
    }
    this.#bytes = bytes;
    this.#end = to;
    this.#chunked.read(bytes, from, to, this.#onData);
    this.#reportSmall();
    this.#bytes = undefined;
  }

  readonly #onData = (from: number, to: number): void => {
    if (this.#bytes === undefined) return;
    if (to - from >= SMALL_BYTES) {
      this.#reportSmall();
      this.#onPayload(this.#bytes.subarray(from, to));
    } else if (this.#smallTo === 0) {
      this.#smallFrom = from;
      this.#smallTo = to;
    } else {
      if (this.#joined === undefined) {
        this.#joined = Buffer.allocUnsafe(this.#end - this.#smallFrom);
        this.#join(this.#bytes, this.#smallFrom, this.#smallTo, this.#joined);
      }
      this.#join(this.#bytes, from, to, this.#joined);
    }
  };

  #join(bytes: Buffer, from: number, to: number, joined: Buffer): void {
    // A call of `copy` costs more for most small chunks.
    for (let at = from; at < to; at += 1) joined[this.#length++] = bytes[at] as number;
  }

  #reportSmall(): void {
    if (this.#smallTo === 0) return;
    const small = this.#joined?.subarray(0, this.#length) ?? this.#bytes?.subarray(this.#smallFrom, this.#smallTo);
    this.#smallTo = 0;
    this.#joined = undefined;
    this.#length = 0;
    if (small !== undefined) this.#onPayload(small);
  }
}
