/** Everything without an entry of its own counts under this name. */
export const OTHER_NAME = '(other)';

/** In UTF-16 code units. Longer names count as `(other)`. */
export const MAX_NAME_CHARS = 512;

/** Limits the number of names. Several tables may share one budget. */
export class NameBudget {
  #limit: number;
  #used = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Ignores the limit: for a name that was admitted when the limit was higher. */
  take(): void {
    this.#used += 1;
  }

  /** Existing names stay, even above the new limit. */
  limitTo(limit: number): void {
    this.#limit = limit;
  }

  tryTake(): boolean {
    if (this.#used >= this.#limit) return false;
    this.#used += 1;
    return true;
  }
}

/**
 * The admitted names, each with its entry. Names come from the wire: the budget limits their number, `MAX_NAME_CHARS`
 * their length. Names are never removed. `(other)`, also if it comes from the wire, is one shared entry outside the
 * budget. Names must own their memory (`detached` in protocol/http1/text.ts).
 */
export class NameTable<Entry> {
  readonly #budget: NameBudget;
  readonly #create: (name: string, atNs: number | undefined) => Entry;
  readonly #entries = new Map<string, Entry>();
  #foldedCount = 0;

  constructor(budget: NameBudget, create: (name: string, atNs: number | undefined) => Entry) {
    this.#budget = budget;
    this.#create = create;
  }

  /** How often something with a name was counted under `(other)`. */
  get foldedCount(): number {
    return this.#foldedCount;
  }

  /** For restoring after a restart. */
  set foldedCount(count: number) {
    this.#foldedCount = count;
  }

  /** In order of admission. */
  get entries(): ReadonlyMap<string, Entry> {
    return this.#entries;
  }

  /** The entry of `name` if it has one; creates none. */
  find(name: string): Entry | undefined {
    return this.#entries.get(name.length > MAX_NAME_CHARS ? OTHER_NAME : name);
  }

  /** The entry that counts `name` since its admission: its own, or `(other)` if the budget was exhausted. */
  findOrOther(name: string): Entry | undefined {
    return this.#entries.get(name) ?? this.#entries.get(OTHER_NAME);
  }

  /** Creates the entry if the budget allows it, else returns `(other)`. `atNs`: time of arrival, default now. */
  admit(name: string, atNs?: number): Entry {
    const present = this.#entries.get(name);
    if (present !== undefined) return present;
    if (name === OTHER_NAME) return this.#createEntry(OTHER_NAME, atNs);
    if (name.length <= MAX_NAME_CHARS && this.#budget.tryTake()) return this.#createEntry(name, atNs);
    this.#foldedCount += 1;
    return this.#entries.get(OTHER_NAME) ?? this.#createEntry(OTHER_NAME, atNs);
  }

  /** The entry of a name that was admitted before a restart; ignores the limit of the budget. */
  readmit(name: string): Entry {
    const present = this.#entries.get(name);
    if (present !== undefined) return present;
    if (name !== OTHER_NAME) this.#budget.take();
    return this.#createEntry(name);
  }

  /**
   * The entry of an answer with `status`. A wrong password or an unknown name (4xx) creates none, so that a scan can
   * neither fill the table nor exhaust the budget.
   */
  forAnswer(name: string, status: number, atNs?: number): Entry | undefined {
    return status >= 400 && status < 500 ? this.find(name) : this.admit(name, atNs);
  }

  #createEntry(name: string, atNs?: number): Entry {
    const entry = this.#create(name, atNs);
    this.#entries.set(name, entry);
    return entry;
  }
}
