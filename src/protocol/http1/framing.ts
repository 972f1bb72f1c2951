import { ChunkedReader, MORE } from './chunked.ts';

/** How the end of a message's body is found (RFC 9112 §6.3). */
export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'until-close' };

export const NO_BODY: Framing = { kind: 'none' };
export const CHUNKED: Framing = { kind: 'chunked' };
export const UNTIL_CLOSE: Framing = { kind: 'until-close' };

export function lengthFraming(bytes: number): Framing {
  return bytes === 0 ? NO_BODY : { kind: 'length', bytes };
}

/** Finds the ends of successive bodies on a connection, without reading their content. */
export class BodyReader {
  readonly #maxTrailerBytes: number;
  #framing: Framing['kind'] = 'none';
  #left = 0;
  #hasContent = false;
  #chunked: ChunkedReader | undefined;

  constructor(maxTrailerBytes: number) {
    this.#maxTrailerBytes = maxTrailerBytes;
  }

  /** The reader of the current chunked body; after `MALFORMED` it describes the fault. */
  get chunked(): Pick<ChunkedReader, 'part' | 'isTooLarge'> | undefined {
    return this.#framing === 'chunked' ? this.#chunked : undefined;
  }

  begin(framing: Framing): void {
    this.#framing = framing.kind;
    this.#hasContent = framing.kind === 'length';
    if (framing.kind === 'length') this.#left = framing.bytes;
    else if (framing.kind === 'chunked') this.#chunked = new ChunkedReader(this.#maxTrailerBytes);
  }

  get hasContent(): boolean {
    return this.#framing === 'chunked' ? this.#chunked?.hasContent === true : this.#hasContent;
  }

  /** The offset just past the body's end; `MORE` if all of `from` to `to` is body and more follows; or `MALFORMED`. */
  read(bytes: Uint8Array, from: number, to: number): number {
    switch (this.#framing) {
      case 'none':
        return from;
      case 'length':
        return this.#readLength(from, to);
      case 'chunked':
        return (this.#chunked as ChunkedReader).read(bytes, from, to);
      default:
        if (to > from) this.#hasContent = true;
        return MORE;
    }
  }

  /** Where a trailer section begins, or goes on, in the bytes of the last `read`; `MORE` without one. */
  get trailerStart(): number {
    return this.#framing === 'chunked' ? (this.#chunked as ChunkedReader).trailerStart : MORE;
  }

  #readLength(from: number, to: number): number {
    const available = to - from;
    if (available < this.#left) {
      this.#left -= available;
      return MORE;
    }
    const end = from + this.#left;
    this.#left = 0;
    return end;
  }
}
