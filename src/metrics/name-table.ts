import { NS_PER_S } from '../base/clock.ts';
import { createMetricSet, type GrowingMetricSet, type MetricSet } from './metric-set.ts';

/** Everything without an entry of its own counts under this name. */
export const OTHER_NAME = '(other)';

/** In UTF-16 code units. Longer names count as `(other)`. */
export const MAX_NAME_CHARS = 512;

/** What a line of `/metrics` has besides the name. */
const LINE_BYTES = 144;

/** A name in a table that gives way to others, and how to remove it there. */
interface YieldingName {
  readonly bytes: number;
  failedNs: number;
  giveWay(): void;
}

/** A name that only ever failed stays this long from its last failure, unless a success needs the room. */
const FAILED_STAYS_NS = 10 * NS_PER_S;

/**
 * Limits the number of names and their bytes. Several tables may share one budget. A name that only ever failed gives
 * way to a new one, the least recently used first: a server may answer 501 before any login, so any client can create
 * such names. A flood of them replaces few: that would cost more than to count it.
 */
export class NameBudget {
  #limit: number;
  #maxBytes: number;
  #used = 0;
  #bytes = 0;
  /** Least recently used first. */
  readonly #yielding = new Set<YieldingName>();
  #yieldingBytes = 0;

  /** `maxBytes`: of all `nameBytes`; default: no limit. */
  constructor(limit: number, maxBytes = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
    this.#maxBytes = maxBytes;
  }

  /** Existing names stay, even above the new limit. */
  limitTo(limit: number, maxBytes: number): void {
    this.#limit = limit;
    this.#maxBytes = maxBytes;
  }

  /** Ignores the number: for a name that was admitted when it was higher. False if its bytes do not fit. */
  retake(bytes: number): boolean {
    this.#used += 1;
    this.#bytes += bytes;
    return this.#bytes - this.#yieldingBytes <= this.#maxBytes;
  }

  /** Names that only ever failed give way, if that makes enough room. `failedNs`: for a name that fails now. */
  tryTake(bytes: number, failedNs?: number): boolean {
    const kept = this.#used - this.#yielding.size;
    if (kept >= this.#limit || this.#bytes - this.#yieldingBytes + bytes > this.#maxBytes) return false;
    const beforeNs = failedNs === undefined ? Number.POSITIVE_INFINITY : failedNs - FAILED_STAYS_NS;
    if (!this.#makeRoom(this.#limit - 1, this.#maxBytes - bytes, beforeNs)) return false;
    this.#used += 1;
    this.#bytes += bytes;
    return true;
  }

  /** Adds `name`, or marks it as the most recently used. */
  yields(name: YieldingName): void {
    if (!this.#yielding.delete(name)) this.#yieldingBytes += name.bytes;
    this.#yielding.add(name);
  }

  keep(name: YieldingName): void {
    if (this.#yielding.delete(name)) this.#yieldingBytes -= name.bytes;
  }

  /** Removes what does not fit after `retake`. */
  trim(): void {
    this.#makeRoom(Number.POSITIVE_INFINITY, this.#maxBytes, Number.POSITIVE_INFINITY);
  }

  /** Removes names that failed last before `beforeNs`. False if that is not enough. */
  #makeRoom(maxUsed: number, maxBytes: number, beforeNs: number): boolean {
    for (const name of this.#yielding) {
      if (this.#used <= maxUsed && this.#bytes <= maxBytes) return true;
      if (name.failedNs > beforeNs) return false;
      this.keep(name);
      this.#used -= 1;
      this.#bytes -= name.bytes;
      name.giveWay();
    }
    return this.#used <= maxUsed && this.#bytes <= maxBytes;
  }
}

/**
 * Statistics of one kind: an entry for all together, and one for each admitted name. Names come from the wire: the budget
 * limits their number and their bytes, `MAX_NAME_CHARS` their length. Only names that never succeeded are removed.
 * `(other)`, also if it comes from the wire, is one shared entry outside the budget. Names must own their memory
 * (`detached` in protocol/http1/text.ts).
 */
export abstract class NameTable<Entry> {
  /** The name of the totals in the metrics, e.g. `rpc`. */
  protected readonly prefix: string;
  readonly #budget: NameBudget;
  /** All together, with or without a name. */
  abstract readonly total: Entry;
  /** In order of admission. */
  protected readonly entries = new Map<string, Entry>();
  /** Names that only ever failed, in no order. */
  readonly #failed = new Map<string, YieldingName>();
  /** How often something with a name was counted under `(other)`. */
  foldedCount = 0;
  /** Built on first use, since most sessions are never shown; kept, since 20,000 names would block the event loop. */
  protected shown: GrowingMetricSet | undefined;

  constructor(prefix: string, budget: NameBudget) {
    this.prefix = prefix;
    this.#budget = budget;
  }

  /** `atNs`: time of arrival, default now. */
  protected abstract create(name: string, atNs: number | undefined): Entry;
  /** `name` gives way: its counts move to `other`. Returns how many events that were. */
  protected abstract fold(name: string, entry: Entry, other: Entry): number;
  protected abstract show(set: GrowingMetricSet, path: string, entry: Entry): GrowingMetricSet;

  /** Names with an entry, including `(other)`. */
  get nameCount(): number {
    return this.entries.size;
  }

  /** The totals and all names. The maps are live. */
  metrics(): MetricSet {
    if (this.shown === undefined) {
      this.shown = this.show(createMetricSet(), this.prefix, this.total);
      for (const [name, entry] of this.entries) this.show(this.shown, `${this.prefix}.${name}`, entry);
    }
    return this.shown;
  }

  /** The metrics of one name without the totals; undefined if the name has no entry. */
  metricsOf(name: string): MetricSet | undefined {
    const entry = this.entries.get(name);
    return entry && this.show(createMetricSet(), `${this.prefix}.${name}`, entry);
  }

  /** Whether the name only ever failed. It is not saved. */
  protected givesWay(name: string): boolean {
    return this.#failed.has(name);
  }

  /** The entry of `name` if it has one; creates none. */
  protected find(name: string): Entry | undefined {
    return this.entries.get(name.length > MAX_NAME_CHARS ? OTHER_NAME : name);
  }

  /** For a success: creates the entry if the budget allows it, else returns `(other)`. From now on `name` stays. */
  protected admit(name: string, atNs?: number): Entry {
    const present = this.entries.get(name);
    if (present === undefined) return this.#create(name, atNs);
    const failed = this.#failed.size > 0 ? this.#failed.get(name) : undefined;
    if (failed !== undefined) {
      this.#failed.delete(name);
      this.#budget.keep(failed);
    }
    return present;
  }

  /**
   * The entry of an answer with `status`. A wrong password or an unknown name (4xx) creates none, so that a scan can
   * neither fill the table nor exhaust the budget. A name that an error creates gives way until it succeeds.
   */
  protected forAnswer(name: string, status: number, atNs: number): Entry | undefined {
    if (status < 400) return this.admit(name, atNs);
    if (status < 500) return this.find(name);
    const failed = this.#failed.get(name);
    if (failed !== undefined) {
      failed.failedNs = atNs;
      this.#budget.yields(failed);
    }
    return this.entries.get(name) ?? this.#create(name, atNs, atNs);
  }

  /** The entry of a name that was admitted before a restart. Call `NameBudget.trim` after the last one. */
  protected readmit(name: string, hasOnlyFailed = false): Entry {
    const present = this.entries.get(name);
    if (present !== undefined) return present;
    if (name === OTHER_NAME) return this.#add(OTHER_NAME);
    const fits = this.#budget.retake(nameBytes(name));
    return this.#add(name, undefined, hasOnlyFailed || !fits ? Number.NEGATIVE_INFINITY : undefined);
  }

  #create(name: string, atNs: number | undefined, failedNs?: number): Entry {
    if (name === OTHER_NAME) return this.#add(OTHER_NAME, atNs);
    if (name.length <= MAX_NAME_CHARS && this.#budget.tryTake(nameBytes(name), failedNs))
      return this.#add(name, atNs, failedNs);
    this.foldedCount += 1;
    return this.#other(atNs);
  }

  #add(name: string, atNs?: number, failedNs?: number): Entry {
    const entry = this.create(name, atNs);
    this.entries.set(name, entry);
    if (this.shown !== undefined) this.show(this.shown, `${this.prefix}.${name}`, entry);
    // An empty name, which a rule may produce, shares its counts with calls without a name, and stays.
    if (failedNs !== undefined && name !== '') {
      const giveWay = () => {
        this.#failed.delete(name);
        this.entries.delete(name);
        this.foldedCount += this.fold(name, entry, this.#other());
      };
      const failed = { bytes: nameBytes(name), failedNs, giveWay };
      this.#failed.set(name, failed);
      this.#budget.yields(failed);
    }
    return entry;
  }

  #other(atNs?: number): Entry {
    return this.entries.get(OTHER_NAME) ?? this.#add(OTHER_NAME, atNs);
  }
}

/** A bound of the bytes that one name takes in a line of an answer, in every form and with its escapes. */
export function nameBytes(name: string): number {
  let bytes = LINE_BYTES;
  for (let i = 0; i < name.length; i += 1) {
    const unit = name.charCodeAt(i);
    if (unit === QUOTE || unit === BACKSLASH) bytes += 2;
    else if (unit < 0x20 || (unit >= 0xd800 && unit <= 0xdfff)) bytes += 6;
    else bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3;
  }
  return bytes;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
