/** Reads what an `ArchiveWriter` wrote, value by value in the same order. */

/** Unexpected bytes. The message gives the position, never the content. */
export class ArchiveError extends Error {
  constructor(expected: string, at: number) {
    super(`expected ${expected} at byte ${at}`);
    this.name = 'ArchiveError';
  }
}

/** Converts moments of the process that wrote to the clock of this process. */
export interface Passed {
  /** When the writer finished, by its own monotonic clock. */
  readonly savedNs: number;
  /** The same moment by this process's clock: now minus the wall-clock time that has passed since. */
  readonly savedAtNs: number;
}

export class ArchiveReader {
  readonly #bytes: Buffer;
  readonly #passed: Passed;
  readonly #names: string[];
  readonly #isPart: boolean;
  #at: number;

  /** Reads `bytes` from `start`. `whole`: the archive that they are a part of. */
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

  double(): number {
    const at = this.#advance(8, 'a number');
    const value = this.#bytes.readDoubleLE(at);
    if (!Number.isFinite(value)) throw new ArchiveError('a finite number', at);
    return value;
  }

  /** By the monotonic clock of this process, as long ago as by the wall clock; may lie before its start. */
  moment(): number {
    // Capped at the time of writing: no moment in the archive can be later.
    return this.#passed.savedAtNs - Math.max(0, this.#passed.savedNs - this.double());
  }

  /** Infinity if there is none. */
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

  /** A view of the archive, not a copy. */
  bytes(length: number): Buffer {
    const at = this.#advance(length, 'bytes');
    return this.#bytes.subarray(at, at + length);
  }

  /** A part to be read later or never. Keeps the whole archive in memory until then. */
  part(): ArchiveReader {
    return new ArchiveReader(this.bytes(this.count()), 0, this.#passed, this);
  }

  /** For impossible values. */
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
