/** The name under which everything is counted that has no name of its own. */
export const OTHER_NAME = '(other)';

/** In UTF-16 code units. A longer name counts as `(other)`. */
export const MAX_NAME_CHARS = 512;

/** How many names may still be created. One budget may be shared by several tables. */
export class NameBudget {
  #limit: number;
  #used = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get used(): number {
    return this.#used;
  }

  /** Beyond the limit, too: for a name that was admitted when the limit was higher. */
  take(): void {
    this.#used += 1;
  }

  /** Another limit from now on. Names that are there stay, also if they are more than that. */
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
 * The names that have been admitted, each with its entry. Names come from the wire, so they are bounded in number by the
 * budget and in length by `MAX_NAME_CHARS`; names are never taken out. `(other)`, also when the wire says so, is one shared
 * entry outside the budget. Names must own their memory (`detached` in protocol/http1/text.ts).
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

  /** How often something was counted under `(other)` that came with a name of its own. */
  get foldedCount(): number {
    return this.#foldedCount;
  }

  /** For what was counted before a restart. */
  set foldedCount(count: number) {
    this.#foldedCount = count;
  }

  /** In order of admission. */
  get entries(): ReadonlyMap<string, Entry> {
    return this.#entries;
  }

  /** The entry that `name` has been given; creates none. */
  find(name: string): Entry | undefined {
    return this.#entries.get(name.length > MAX_NAME_CHARS ? OTHER_NAME : name);
  }

  /** The entry on which `name` was counted when it was admitted: its own, or `(other)` once there was no budget left for it. */
  findOrOther(name: string): Entry | undefined {
    return this.#entries.get(name) ?? this.#entries.get(OTHER_NAME);
  }

  /** The entry of `name`, created if the budget allows it, else that of `(other)`. `atNs`: when it came, if that is not now. */
  admit(name: string, atNs?: number): Entry {
    const present = this.#entries.get(name);
    if (present !== undefined) return present;
    if (name === OTHER_NAME) return this.#createEntry(OTHER_NAME, atNs);
    if (name.length <= MAX_NAME_CHARS && this.#budget.tryTake()) return this.#createEntry(name, atNs);
    this.#foldedCount += 1;
    return this.#entries.get(OTHER_NAME) ?? this.#createEntry(OTHER_NAME, atNs);
  }

  /** The entry of a name that was admitted before a restart, whatever the budget says now. */
  readmit(name: string): Entry {
    const present = this.#entries.get(name);
    if (present !== undefined) return present;
    if (name !== OTHER_NAME) this.#budget.take();
    return this.#createEntry(name);
  }

  /**
   * The entry on which an answer with `status` counts. A wrong password or an unknown name (4xx) creates none, so that a scan
   * can neither fill the table nor use up the budget.
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
