/**
 * Serialises tables, to be read again after a restart (`ArchiveReader`, in the same order). The folder knows neither
 * what is written nor where the bytes go.
 *
 * Whole numbers take as many bytes as they need (LEB128), texts are UTF-8, and a repeated name is a number. Bytes are
 * handed out in chunks, so that tables of tens of megabytes are not in memory twice.
 */
const CHUNK_BYTES = 131_072;
/** No value except a text takes more. */
const MAX_VALUE_BYTES = 16;
/** Chunks kept for reuse. */
const MAX_SPARE = 4;
const MAX_SMALL = 0x7fffffff;
const LONE_SURROGATE = /\p{Surrogate}/u;

export class ArchiveWriter {
  #chunk: Buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  #at = 0;
  #full: Buffer[] = [];
  readonly #spare: Buffer[] = [];
  readonly #names: Map<string, number>;
  readonly #isPart: boolean;
  /** The writer of parts, reused for each part. */
  #partWriter: ArchiveWriter | undefined;

  /** `whole`: the writer of which this one writes parts. */
  constructor(whole?: ArchiveWriter) {
    this.#names = whole === undefined ? new Map() : whole.#names;
    this.#isPart = whole !== undefined;
  }

  get hasFull(): boolean {
    return this.#full.length > 0;
  }

  /** The full chunks. Give each back with `recycle` after its bytes have been used. */
  takeFull(): readonly Buffer[] {
    const full = this.#full;
    this.#full = [];
    return full;
  }

  /** All remaining chunks; the last one is not full. Use them before anything more is written. */
  takeRest(): readonly Buffer[] {
    if (this.#at > 0) this.#full.push(this.#chunk.subarray(0, this.#at));
    this.#at = 0;
    return this.takeFull();
  }

  /** Reuses a chunk of `takeFull` if it is whole and of the standard size. */
  recycle(chunk: Buffer): void {
    const whole = chunk.byteOffset === 0 && chunk.buffer.byteLength === CHUNK_BYTES;
    if (whole && this.#spare.length < MAX_SPARE) this.#spare.push(Buffer.from(chunk.buffer));
  }

  flag(value: boolean): void {
    this.#reserve(1);
    this.#chunk[this.#at] = value ? 1 : 0;
    this.#at += 1;
  }

  /** A whole number from 0 to 2^53 - 1. */
  count(value: number): void {
    this.#reserve(MAX_VALUE_BYTES);
    const chunk = this.#chunk;
    let left = value;
    let at = this.#at;
    while (left > MAX_SMALL) {
      chunk[at] = (left % 128) | 0x80;
      at += 1;
      left = Math.floor(left / 128);
    }
    while (left > 0x7f) {
      chunk[at] = (left & 0x7f) | 0x80;
      at += 1;
      left >>>= 7;
    }
    chunk[at] = left;
    this.#at = at + 1;
  }

  /** Any number, bit for bit. */
  double(value: number): void {
    this.#reserve(8);
    this.#at = this.#chunk.writeDoubleLE(value, this.#at);
  }

  /** A monotonic moment; `ArchiveReader` converts it to the clock of its process. */
  moment(ns: number): void {
    this.double(ns);
  }

  /** An infinite `ns` means that there is no moment. */
  momentIfAny(ns: number): void {
    const isThere = Number.isFinite(ns);
    this.flag(isThere);
    if (isThere) this.moment(ns);
  }

  /** A text that occurs once, such as an id. */
  text(text: string): void {
    // A lone surrogate has no UTF-8, and two names that differ in one must stay different.
    const encoding = LONE_SURROGATE.test(text) ? 'utf16le' : 'utf8';
    const bytes = Buffer.byteLength(text, encoding);
    this.count(2 * bytes + (encoding === 'utf8' ? 0 : 1));
    this.#reserve(bytes);
    this.#chunk.write(text, this.#at, encoding);
    this.#at += bytes;
  }

  /** A text that may repeat: from the second time on a number. All are remembered, so they must be bounded. */
  name(name: string): void {
    const index = this.#names.get(name);
    this.count(index ?? 0);
    if (index !== undefined) return;
    // A reader that skips this part would not know the name.
    if (!this.#isPart) this.#names.set(name, this.#names.size + 1);
    this.text(name);
  }

  /** Writes a part that a reader can defer: after a restart most data is not needed at once. */
  part(write: (out: ArchiveWriter) => void): void {
    this.#partWriter ??= new ArchiveWriter(this);
    const writer = this.#partWriter;
    write(writer);
    const chunks = writer.takeRest();
    this.count(chunks.reduce((sum, { length }) => sum + length, 0));
    for (const chunk of chunks) this.bytes(chunk);
  }

  /** Without their length: the reader must know it. */
  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#chunk.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#chunk.length) return;
    if (this.#at > 0) this.#full.push(this.#chunk.subarray(0, this.#at));
    this.#at = 0;
    // A text longer than a chunk gets its own chunk.
    this.#chunk =
      bytes > CHUNK_BYTES ? Buffer.allocUnsafeSlow(bytes) : (this.#spare.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES));
  }
}
