import type { Clock } from '../base/clock.ts';
import type { Exemplar } from '../base/metric-description.ts';
import type { SavedFields, SavedRecord } from '../state/saved-record.ts';
import type { CallCounts } from './call-counts.ts';
import { Meter } from './meter.ts';
import type { GrowingMetricSet } from './metric-set.ts';
import { type NameBudget, NameTable, OTHER_NAME } from './name-table.ts';
import type { Timer } from './timer.ts';

/** The calls of one name, or of all: a timer of the answered ones, and a meter of the errors. */
class TimedCalls {
  readonly timer: Timer;
  readonly #clock: Clock;
  /** Undefined until it is read or marked: most names never have an error. */
  #errors: Meter | undefined;
  /** Undefined on the totals, which are the sum of all names, and without `createCounts`. */
  readonly counts: CallCounts | undefined;

  constructor(clock: Clock, timer: Timer, counts: CallCounts | undefined) {
    this.#clock = clock;
    this.timer = timer;
    this.counts = counts;
  }

  get errors(): Meter {
    this.#errors ??= new Meter(this.#clock, this.timer.createdNs);
    return this.#errors;
  }

  get errorCount(): number {
    return this.#errors?.count ?? 0;
  }

  absorb(from: TimedCalls): void {
    this.timer.absorb(from.timer);
    if (from.counts !== undefined) this.counts?.absorb(from.counts);
    if (this.#errors !== undefined || from.errorCount > 0) this.errors.absorb(from.errors);
  }

  saveCounts() {
    return { count: this.timer.count, errors: this.errorCount, outcomes: this.counts?.save() };
  }

  /** The fields to save, with counts that `saveCounts` returned earlier. */
  save({ count, errors, outcomes }: SavedCounts, record: string, name?: string): SavedFields {
    const errorRates = this.errorCount === 0 ? undefined : this.errors.save();
    return { record, name, count, errors, outcomes, timer: this.timer.save(), errorRates };
  }

  load(saved: SavedRecord): void {
    this.timer.load(saved.record('timer'), saved.count('count'));
    this.counts?.load(saved.record('outcomes'));
    if (saved.has('errorRates')) this.errors.load(saved.record('errorRates'), saved.count('errors'));
    else this.#errors?.restart(this.timer.createdNs);
  }
}

type SavedCounts = ReturnType<TimedCalls['saveCounts']>;

/**
 * Counts calls of one kind: timers `rpc` and `rpc.<name>`, meters `rpc.errors` and `rpc.<name>.errors` (or `sba...`).
 * Timers count every answered call, whatever its status. An error is a status of 500 and above, or no answer. The
 * totals exist from the start; `NameTable` decides which names get an entry.
 */
export class CallStatistics extends NameTable<TimedCalls> {
  readonly #clock: Clock;
  readonly total: TimedCalls;
  /** By name; `''` holds the calls that count on the totals only. Undefined without `createCounts`. */
  readonly #countsByName: Map<string, CallCounts> | undefined;
  readonly #unnamed: CallCounts | undefined;
  readonly #createTimer: (createdNs: number) => Timer;
  readonly #createCounts: (() => CallCounts) | undefined;
  /** A call that takes longer counts as late. */
  lateAfterNs = Number.POSITIVE_INFINITY;
  /** Called when the counts of a name have moved to another. */
  readonly foldListeners = new Set<(name: string, into: string) => void>();

  constructor(options: {
    prefix: 'rpc' | 'sba';
    clock: Clock;
    createTimer: (createdNs: number) => Timer;
    budget: NameBudget;
    createdNs?: number;
    /** Also keeps `countsByName`: 620 bytes per name, for the application only. */
    createCounts?: () => CallCounts;
  }) {
    const { prefix, clock, createTimer, budget, createCounts } = options;
    super(prefix, budget);
    this.#createCounts = createCounts;
    this.#clock = clock;
    this.#createTimer = createTimer;
    this.total = new TimedCalls(clock, createTimer(options.createdNs ?? clock.nowNs()), undefined);
    this.#unnamed = createCounts?.();
    this.#countsByName = this.#unnamed && new Map([['', this.#unnamed]]);
  }

  /**
   * Counters since the start by name, in order of admission; `''` is what counts on the totals only. Their sum is the
   * total. Empty without `createCounts`. A live map.
   */
  get countsByName(): ReadonlyMap<string, CallCounts> {
    return this.#countsByName ?? new Map();
  }

  /** `name`, e.g. `E.Demo.TestInOut`, is undefined if the call has none. */
  recordAnswered(
    name: string | undefined,
    status: number,
    durationNs: number,
    nowNs: number = this.#clock.nowNs(),
  ): void {
    const isError = status >= 500;
    const named = name === undefined ? undefined : this.forAnswer(name, status, nowNs);
    this.#countsOf(named)?.answered(status, durationNs, durationNs > this.lateAfterNs);
    this.total.timer.update(durationNs, nowNs);
    named?.timer.update(durationNs, nowNs);
    if (!isError) return;
    this.total.errors.mark(1, nowNs);
    named?.errors.mark(1, nowNs);
  }

  /** Call after `recordAnswered`; without `createCounts` it does nothing. */
  addExemplar(name: string | undefined, durationNs: number, exemplar: Exemplar): void {
    const named = name === undefined ? undefined : this.find(name);
    this.#countsOf(named)?.durations.addExemplar(durationNs, exemplar);
  }

  /** A refusal that any client can provoke: counts as an error, but creates no name. */
  recordRefused(name: string, durationNs: number): void {
    const nowNs = this.#clock.nowNs();
    const named = this.find(name);
    this.#countsOf(named)?.refused(durationNs, durationNs > this.lateAfterNs);
    for (const calls of [this.total, named]) {
      calls?.timer.update(durationNs, nowNs);
      calls?.errors.mark(1, nowNs);
    }
  }

  /** No answer from the upstream: an error without a duration, which creates no name. */
  recordFailed(name: string | undefined): void {
    const nowNs = this.#clock.nowNs();
    const named = name === undefined ? undefined : this.find(name);
    this.#countsOf(named)?.failed();
    this.total.errors.mark(1, nowNs);
    named?.errors.mark(1, nowNs);
  }

  /**
   * The record of the totals, then one for each name; those of an application that only failed are saved as parts of
   * `(other)`. All counts are of the moment at which the first is taken, so that
   * the totals are the sum of the names; the rest is of the moment of each record.
   */
  *save(): Generator<SavedFields> {
    const record = this.prefix;
    const total = this.total.saveCounts();
    const more = { folded: this.foldedCount, unnamed: this.#unnamed?.save() };
    const named = Array.from(this.entries, ([name, calls]) => ({
      // Those of a session come from a client that the server has accepted.
      name: this.#unnamed !== undefined && this.givesWay(name) ? OTHER_NAME : name,
      ...{ calls, counts: calls.saveCounts() },
    }));
    yield { record, ...more, ...this.total.save(total, record) };
    for (const { name, calls, counts } of named) yield calls.save(counts, record, name);
  }

  /** Restores one record. Must be called before anything is recorded. */
  load(saved: SavedRecord): void {
    const name = saved.text('name');
    if (name !== undefined) {
      const isPart = name === OTHER_NAME && this.entries.has(name);
      const errors = saved.count('errors');
      // Only a session saves names that only failed: none of their calls succeeded if as many failed as were answered.
      const hasOnlyFailed = this.#unnamed === undefined && errors > 0 && errors >= saved.count('count');
      const calls = this.readmit(name, hasOnlyFailed);
      // A further record of `(other)`.
      const part = isPart ? new TimedCalls(this.#clock, this.#createTimer(0), this.#createCounts?.()) : calls;
      part.load(saved);
      if (isPart) calls.absorb(part);
      return;
    }
    this.foldedCount = saved.count('folded');
    this.#unnamed?.load(saved.record('unnamed'));
    this.total.load(saved);
  }

  /** Answered calls and errors of one name. */
  countOf(name: string): { readonly count: number; readonly errors: number } {
    const calls = this.entries.get(name);
    return { count: calls?.timer.count ?? 0, errors: calls?.errorCount ?? 0 };
  }

  protected create(name: string, atNs: number = this.#clock.nowNs()): TimedCalls {
    return new TimedCalls(this.#clock, this.#createTimer(atNs), this.#countsFor(name));
  }

  /** An empty name, which a rule may produce, shares the counts of calls without a name. */
  #countsFor(name: string): CallCounts | undefined {
    const counts = this.#countsByName?.get(name) ?? this.#createCounts?.();
    if (counts !== undefined) this.#countsByName?.set(name, counts);
    return counts;
  }

  /** So that all sums stay as they are. */
  protected fold(name: string, calls: TimedCalls, other: TimedCalls): number {
    this.shown?.timers.delete(`${this.prefix}.${name}`);
    this.shown?.meters.delete(`${this.prefix}.${name}.errors`);
    this.#countsByName?.delete(name);
    for (const listener of this.foldListeners) listener(name, OTHER_NAME);
    other.absorb(calls);
    return calls.timer.count;
  }

  #countsOf(named: TimedCalls | undefined): CallCounts | undefined {
    return named === undefined ? this.#unnamed : named.counts;
  }

  protected show(set: GrowingMetricSet, path: string, { timer, errors }: TimedCalls): GrowingMetricSet {
    set.timers.set(path, timer);
    set.meters.set(`${path}.errors`, errors);
    return set;
  }
}
