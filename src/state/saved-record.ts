/**
 * One record of the state file: named fields, e.g. `{ record: 'rpc', name: 'E.Demo.Run', count: 3 }`. Another version
 * may have written it. A missing field has a default, and nobody asks for unknown ones; a field of the wrong type makes
 * the file unreadable.
 */
export type SavedFields = Readonly<Record<string, unknown>>;

/** What the file keeps. */
export interface Savable {
  /** Context paths. */
  readonly applications: readonly string[];
  /** Its records, each built when the iterator reaches it; other work runs in between. */
  save(): Iterable<SavedFields>;
  /** Restores what `save` yielded. Rejects if that is unreadable; then discard this object. */
  load(records: AsyncIterable<SavedRecord>): Promise<void>;
}

/** A field of the wrong type. The message names the field, never its content. */
export class SavedRecordError extends Error {
  constructor(expected: string, field: string) {
    super(`expected ${expected} in "${field}"`);
    this.name = 'SavedRecordError';
  }
}

/** Converts moments of the process that wrote to the clock of this process. */
export interface ClockOffset {
  /** A moment by the monotonic clock of the writer. */
  readonly savedNs: number;
  /** The same moment by this process's clock: now minus the wall-clock time that has passed since. */
  readonly savedAtNs: number;
  /** When it is read: nothing in the file happened later. */
  readonly nowNs: number;
}

export class SavedRecord {
  readonly #fields: SavedFields;
  readonly #clock: ClockOffset;

  /** Throws if `fields` is not an object. */
  constructor(fields: unknown, clock: ClockOffset) {
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields))
      throw new SavedRecordError('an object', 'record');
    this.#fields = fields as SavedFields;
    this.#clock = clock;
  }

  /** The moment of saving, by the clock of this process. */
  get savedAtNs(): number {
    return this.#clock.savedAtNs;
  }

  has(field: string): boolean {
    return this.#get(field) !== undefined;
  }

  /** A whole number from 0 to 2^53 - 1; default 0. */
  count(field: string): number {
    return parseCount(this.#get(field) ?? 0, field);
  }

  counts(field: string): readonly number[] {
    return this.#list(field).map((value) => parseCount(value, field));
  }

  number(field: string, absent = 0): number {
    const value = this.#get(field) ?? absent;
    if (typeof value !== 'number') throw new SavedRecordError('a number', field);
    return value;
  }

  numbers(field: string): readonly number[] {
    return this.#list(field).map((value) => {
      if (typeof value !== 'number') throw new SavedRecordError('numbers', field);
      return value;
    });
  }

  flag(field: string): boolean {
    const value = this.#get(field) ?? false;
    if (typeof value !== 'boolean') throw new SavedRecordError('true or false', field);
    return value;
  }

  text(field: string): string | undefined {
    const value = this.#get(field);
    return value === undefined ? undefined : parseText(value, field);
  }

  /** A text without which the record means nothing. */
  textOrThrow(field: string): string {
    return parseText(this.#get(field), field);
  }

  texts(field: string): readonly string[] {
    return this.#list(field).map((value) => parseText(value, field));
  }

  /** A monotonic moment, as long ago as by the wall clock; may lie before the start of this process. */
  moment(field: string): number {
    const { savedNs, savedAtNs, nowNs } = this.#clock;
    return Math.min(nowNs, savedAtNs + this.number(field, savedNs) - savedNs);
  }

  /** Infinity if there is none. */
  momentIfAny(field: string): number {
    return this.has(field) ? this.moment(field) : Number.POSITIVE_INFINITY;
  }

  record(field: string): SavedRecord {
    return new SavedRecord(this.#get(field) ?? {}, this.#clock);
  }

  records(field: string): readonly SavedRecord[] {
    return this.#list(field).map((fields) => new SavedRecord(fields, this.#clock));
  }

  /** Sets each number of `target`. Its names may differ from the saved ones, as they do between versions. */
  countsInto(target: Record<string, number>): void {
    for (const name of Object.keys(target)) target[name] = this.count(name);
  }

  /** For impossible values. */
  refuse(expected: string, field: string): never {
    throw new SavedRecordError(expected, field);
  }

  /** JSON has null for Infinity and NaN: both mean that there is no value. */
  #get(field: string): unknown {
    return Object.hasOwn(this.#fields, field) ? (this.#fields[field] ?? undefined) : undefined;
  }

  #list(field: string): readonly unknown[] {
    const value = this.#get(field) ?? [];
    if (!Array.isArray(value)) throw new SavedRecordError('a list', field);
    return value;
  }
}

function parseCount(value: unknown, field: string): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new SavedRecordError('a count', field);
}

function parseText(value: unknown, field: string): string {
  if (typeof value === 'string') return value;
  throw new SavedRecordError('a text', field);
}
