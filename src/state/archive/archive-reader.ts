/** What an `ArchiveWriter` wrote, value by value in the same order. */

/** The bytes are not what was expected here. Its message says where, never what. */
export class ArchiveError extends Error {
  constructor(expected: string, at: number) {
    super(`expected ${expected} at byte ${at}`);
    this.name = 'ArchiveError';
  }
}

/** Between the clock of the process that wrote and that of this one. */
export interface Passed {
  /** The monotonic moment of the other process at which it had written everything. */
  readonly savedNs: number;
  /** The same moment by the clock of this process: so long ago as has passed since by the wall clock. */
  readonly savedAtNs: number;
}

export class ArchiveReader {
  readonly #bytes: Buffer;
  readonly #passed: Passed;
  readonly #names: string[];
  readonly #isPart: boolean;
  #at: number;

  /** Reads `bytes` from `start`. `whole`: of which they are a part. */
  constructor(bytes: Buffer, start: number, passed: Passed, whole?: ArchiveReader) {
    this.#bytes = bytes;
    this.#at = start;
    this.#passed = passed;
    this.#names = whole === undefined ? [] : whole.#names;
    this.#isPart = whole !== undefined;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  /** When the archive was written, by the monotonic clock of this process. */
  get savedAtNs(): number {
    return this.#passed.savedAtNs;
  }

  flag(): boolean {
    const at = this.#advance(1, 'a flag');
    const byte = this.#bytes[at] as number;
    if (byte > 1) throw new ArchiveError('a flag', at);
    return byte === 1;
  }

  count(): number {
    const bytes = this.#bytes;
    let at = this.#at;
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = bytes[at];
      at += 1;
      if (byte === undefined) throw new ArchiveError('a count', this.#at);
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) break;
      scale *= 128;
      if (scale > Number.MAX_SAFE_INTEGER) throw new ArchiveError('a count', this.#at);
    }
    if (value > Number.MAX_SAFE_INTEGER) throw new ArchiveError('a count', this.#at);
    this.#at = at;
    return value;
  }

  /** A finite number. */
  double(): number {
    const at = this.#advance(8, 'a number');
    const value = this.#bytes.readDoubleLE(at);
    if (!Number.isFinite(value)) throw new ArchiveError('a finite number', at);
    return value;
  }

  /** A moment by the monotonic clock of this process, as long ago as it is by the wall clock; may lie before its start. */
  moment(): number {
    // Never later than the writing, which no moment in the archive can be.
    return this.#passed.savedAtNs - Math.max(0, this.#passed.savedNs - this.double());
  }

  /** Infinity where there is none. */
  momentIfAny(): number {
    return this.flag() ? this.moment() : Number.POSITIVE_INFINITY;
  }

  text(): string {
    const form = this.count();
    const bytes = Math.floor(form / 2);
    const at = this.#advance(bytes, 'a text');
    return this.#bytes.toString(form % 2 === 0 ? 'utf8' : 'utf16le', at, at + bytes);
  }

  name(): string {
    const index = this.count();
    if (index === 0) {
      const name = this.text();
      if (!this.#isPart) this.#names.push(name);
      return name;
    }
    const name = this.#names[index - 1];
    if (name === undefined) throw new ArchiveError('a name', this.#at);
    return name;
  }

  /** A view of the archive. */
  bytes(length: number): Buffer {
    const at = this.#advance(length, 'bytes');
    return this.#bytes.subarray(at, at + length);
  }

  /** A part that may be read later, or never. Keeps the whole archive in memory until then. */
  part(): ArchiveReader {
    return new ArchiveReader(this.bytes(this.count()), 0, this.#passed, this);
  }

  /** For values that say something impossible. */
  refuse(expected: string): never {
    throw new ArchiveError(expected, this.#at);
  }

  #advance(bytes: number, expected: string): number {
    const at = this.#at;
    if (at + bytes > this.#bytes.length) throw new ArchiveError(expected, at);
    this.#at = at + bytes;
    return at;
  }
}
