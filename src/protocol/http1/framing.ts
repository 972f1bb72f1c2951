import { BACKSLASH, COLON, CR, FIELD_VALUE, HEX_VALUE, isBlank, LF, QUOTE, TOKEN } from './field-summary.ts';

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

/** `read` has consumed all bytes, and the body continues. */
export const MORE = -1;
/** `read` found bytes that no chunked body can have. */
export const MALFORMED = -2;

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
  get chunked(): Pick<ChunkedReader, 'part' | 'isTooLarge' | 'trailerStart'> | undefined {
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

const SEMICOLON = 0x3b;
const EQUALS = 0x3d;

/** Longer than every name that matters. Only the beginning of a longer name is kept: a text that grows by single characters takes 32 times its length. */
const MAX_NAME_CHARS = 64;

/** Belong only in a head (RFC 9110 §6.5.1): a recipient that merged one would frame the message or connection otherwise. */
const FRAMING_NAMES = ['connection', 'content-length', 'transfer-encoding', 'upgrade'];

/** Node's parser refuses more in one chunk. */
const MAX_EXTENSION_BYTES = 16 * 1024;

/** Sizes below 2^48: far beyond any real chunk, and sums stay exact. */
const MAX_SIZE_DIGITS = 12;

type State =
  | 'size-first'
  | 'size'
  | 'extension-first'
  | 'extension-name'
  | 'extension-name-end'
  | 'extension-value-first'
  | 'extension-value'
  | 'quoted'
  | 'quoted-pair'
  | 'extension-end'
  | 'size-lf'
  | 'data'
  | 'data-cr'
  | 'data-lf'
  | 'trailer-first'
  | 'trailer-name'
  | 'trailer-value'
  | 'trailer-lf'
  | 'end-lf';

/**
 * Finds the end of a chunked body (RFC 9112 §7.1) in bytes that arrive in any pieces. As strict as Node's parser: CRLF
 * only, extensions of tokens and quoted strings (none empty), well-formed trailers. Unlike Node's, it accepts blanks in
 * extensions and after a size (§7.1.1). No trailer may name a framing field.
 */
export class ChunkedReader {
  readonly #maxTrailerBytes: number;
  #state: State = 'size-first';
  #sizeDigits = 0;
  #size = 0;
  #overheadBytes = 0;
  #trailerName = '';
  /** After `MALFORMED`: the size, an extension or the trailers have exceeded their limit. */
  isTooLarge = false;
  hasContent = false;
  /** Where the trailer section begins, or goes on, in the bytes of the last `read`; `MORE` before it. */
  trailerStart = MORE;

  /** `maxTrailerBytes` limits the trailer section, and together with Node's own limit the extension of each chunk. */
  constructor(maxTrailerBytes: number) {
    this.#maxTrailerBytes = maxTrailerBytes;
  }

  /** The offset just past the body's end, `MORE`, or `MALFORMED`. `onData` gets offsets of chunk content in `bytes`. */
  read(bytes: Uint8Array, from: number, to: number, onData?: (from: number, to: number) => void): number {
    let at = from;
    if (this.trailerStart !== MORE) this.trailerStart = from;
    while (at < to) {
      if (this.#state === 'data') {
        const taken = Math.min(this.#size, to - at);
        this.hasContent = true;
        if (onData !== undefined) onData(at, at + taken);
        this.#size -= taken;
        at += taken;
        if (this.#size === 0) this.#state = 'data-cr';
        continue;
      }
      const byte = bytes[at] as number;
      at += 1;
      if (this.#state === 'end-lf') return byte === LF ? at : MALFORMED;
      const next = this.#next(byte);
      if (next === undefined) return MALFORMED;
      if (next === 'trailer-first' && this.trailerStart === MORE) this.trailerStart = at;
      this.#state = next;
    }
    return MORE;
  }

  #next(byte: number): State | undefined {
    switch (this.#state) {
      case 'size-first':
      case 'size':
        return this.#inSize(byte);
      case 'size-lf':
        if (byte !== LF) return undefined;
        return this.#size === 0 ? 'trailer-first' : 'data';
      case 'data-cr':
        return byte === CR ? 'data-lf' : undefined;
      case 'data-lf':
        this.#sizeDigits = 0;
        this.#overheadBytes = 0;
        return byte === LF ? 'size-first' : undefined;
      case 'trailer-first':
      case 'trailer-name':
      case 'trailer-value':
      case 'trailer-lf':
        return this.#inTrailer(byte);
      default:
        return this.#inExtension(byte);
    }
  }

  #inSize(byte: number): State | undefined {
    const digit = HEX_VALUE[byte] as number;
    if (digit < 16) {
      this.#size = this.#sizeDigits === 0 ? digit : this.#size * 16 + digit;
      // Leading zeros are legal and do not count as digits.
      if (this.#size > 0 || this.#sizeDigits === 0) this.#sizeDigits += 1;
      if (this.#size === 0 && this.#state === 'size') this.#overheadBytes += 1;
      return this.#sizeDigits > MAX_SIZE_DIGITS || this.#isOverLimit() ? undefined : 'size';
    }
    if (this.#state === 'size-first') return undefined;
    return afterExtension(byte);
  }

  /** After `MALFORMED`: the part that is broken. */
  get part(): string {
    if (this.#state.startsWith('size')) return 'chunk size';
    if (this.#state.startsWith('data')) return 'end of a chunk';
    return this.#state.startsWith('trailer') || this.#state === 'end-lf' ? 'trailers' : 'chunk extension';
  }

  #inExtension(byte: number): State | undefined {
    this.#overheadBytes += 1;
    if (this.#isOverLimit(MAX_EXTENSION_BYTES)) return undefined;
    switch (this.#state) {
      case 'extension-first':
        if (isBlank(byte)) return 'extension-first';
        return TOKEN[byte] === 1 ? 'extension-name' : undefined;
      case 'extension-name':
        if (TOKEN[byte] === 1) return 'extension-name';
        return afterExtensionName(byte);
      case 'extension-name-end':
        return afterExtensionName(byte);
      case 'extension-value-first':
        if (isBlank(byte)) return 'extension-value-first';
        if (byte === QUOTE) return 'quoted';
        return TOKEN[byte] === 1 ? 'extension-value' : undefined;
      case 'extension-value':
        return TOKEN[byte] === 1 ? 'extension-value' : afterExtension(byte);
      case 'quoted':
        if (byte === QUOTE) return 'extension-end';
        if (byte === BACKSLASH) return 'quoted-pair';
        return FIELD_VALUE[byte] === 1 ? 'quoted' : undefined;
      case 'quoted-pair':
        return FIELD_VALUE[byte] === 1 ? 'quoted' : undefined;
      default:
        return afterExtension(byte);
    }
  }

  #inTrailer(byte: number): State | undefined {
    this.#overheadBytes += 1;
    if (this.#isOverLimit()) return undefined;
    switch (this.#state) {
      case 'trailer-first':
        if (byte === CR) return 'end-lf';
        this.#trailerName = '';
        return this.#inTrailerName(byte);
      case 'trailer-name':
        return this.#inTrailerName(byte);
      case 'trailer-value':
        if (byte === CR) return 'trailer-lf';
        return FIELD_VALUE[byte] === 1 ? 'trailer-value' : undefined;
      default:
        return byte === LF ? 'trailer-first' : undefined;
    }
  }

  #inTrailerName(byte: number): State | undefined {
    if (TOKEN[byte] === 1) {
      if (this.#trailerName.length < MAX_NAME_CHARS) this.#trailerName += String.fromCharCode(byte);
      return 'trailer-name';
    }
    return byte === COLON && this.#trailerName !== '' && !FRAMING_NAMES.includes(this.#trailerName.toLowerCase())
      ? 'trailer-value'
      : undefined;
  }

  #isOverLimit(maxBytes = Number.POSITIVE_INFINITY): boolean {
    this.isTooLarge = this.#overheadBytes > Math.min(this.#maxTrailerBytes, maxBytes);
    return this.isTooLarge;
  }
}

function afterExtensionName(byte: number): State | undefined {
  if (byte === EQUALS) return 'extension-value-first';
  return isBlank(byte) ? 'extension-name-end' : afterExtension(byte);
}

/** After a size or a value: blanks, another extension, or the end of the line. */
function afterExtension(byte: number): State | undefined {
  if (byte === SEMICOLON) return 'extension-first';
  if (isBlank(byte)) return 'extension-end';
  return byte === CR ? 'size-lf' : undefined;
}
