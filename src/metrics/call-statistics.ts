import type { Clock } from '../base/clock.ts';
import type { ArchiveReader } from '../state/archive/archive-reader.ts';
import type { ArchiveWriter } from '../state/archive/archive-writer.ts';
import type { TimedCall } from './answer-log.ts';
import { CallCounts, type CallCountsReading } from './call-counts.ts';
import type { DurationBuckets } from './duration-buckets.ts';
import { Meter, type MeterReading } from './meter.ts';
import { type MeterSnapshot, UNMARKED_SNAPSHOT } from './meter-numbers.ts';
import { emptyMetricSet, type MetricSet } from './metric-set.ts';
import { type NameBudget, NameTable } from './name-table.ts';
import type { Timer, TimerReading } from './timer.ts';

/** `alsoInto`: the timer counts all durations there, too. Given only if counts are kept. */
export type CreateTimer = (createdNs: number, alsoInto?: DurationBuckets) => Timer;

/**
 * The calls of one name: a timer of the answered ones, and itself the meter of the failed ones. That meter is created
 * by the first failure, since most calls never fail, but reads as if it were as old as the timer.
 */
class TimedCalls implements MeterReading {
  readonly owner: CallStatistics;
  readonly timer: Timer;
  /** Undefined on the totals, which are the sum of all names, and without `keepsCounts`. */
  readonly counts: CallCounts | undefined;
  #errors: Meter | undefined;

  constructor(owner: CallStatistics, timer: Timer, counts: CallCounts | undefined) {
    this.owner = owner;
    this.timer = timer;
    this.counts = counts;
  }

  get count(): number {
    return this.#errors?.count ?? 0;
  }

  snapshot(): MeterSnapshot {
    return this.#errors?.snapshot() ?? UNMARKED_SNAPSHOT;
  }

  markError(clock: Clock, nowNs: number): void {
    this.#errors ??= new Meter(clock, this.timer.createdNs);
    this.#errors.mark(1, nowNs);
  }

  saveCounts(out: ArchiveWriter): void {
    out.count(this.timer.count);
    out.count(this.count);
    this.counts?.save(out);
  }

  loadCounts(input: ArchiveReader): SavedCounts {
    const saved = { calls: input.count(), errors: input.count() };
    this.counts?.load(input);
    return saved;
  }

  save(out: ArchiveWriter): void {
    this.timer.save(out);
    out.flag(this.#errors !== undefined);
    this.#errors?.save(out);
  }

  load(input: ArchiveReader, clock: Clock, saved: SavedCounts): void {
    this.timer.load(input, saved.calls);
    if (!input.flag()) return;
    this.#errors = new Meter(clock, this.timer.createdNs);
    this.#errors.load(input, saved.errors);
  }
}

interface SavedCounts {
  readonly calls: number;
  readonly errors: number;
}

/** Metrics of all names. Cached, because building 20,000 names for each answer would block the event loop. */
interface Shown {
  readonly timers: Map<string, TimerReading>;
  readonly meters: Map<string, MeterReading>;
}

/**
 * Counts calls of one kind: timers `rpc` and `rpc.<name>`, meters `rpc.errors` and `rpc.<name>.errors` (or `sba...`).
 * Timers count every answered call, whatever its status. An error is a status of 500 and above, or no answer. The
 * totals exist from the start; `NameTable` decides which names get an entry.
 */
export class CallStatistics {
  readonly #prefix: string;
  readonly #clock: Clock;
  readonly #total: TimedCalls;
  readonly #names: NameTable<TimedCalls>;
  /** By name; `''` holds the calls that count on no name. Undefined without `keepsCounts`. */
  readonly #counts: Map<string, CallCounts> | undefined;
  readonly #unnamed: CallCounts | undefined;
  /** Built on first use unless `showsEarly`: most sessions are never shown. */
  #shown: Shown | undefined;

  constructor(options: {
    prefix: 'rpc' | 'sba';
    clock: Clock;
    createTimer: CreateTimer;
    budget: NameBudget;
    createdNs?: number;
    /** Also keeps `counts`: 250 bytes per name. Default false. */
    keepsCounts?: boolean;
    /** Builds the result of `metrics` early: for 2,000 names at once it would block the event loop for some ms. */
    showsEarly?: boolean;
  }) {
    const { prefix, clock, createTimer, budget, keepsCounts = false } = options;
    this.#prefix = prefix;
    this.#clock = clock;
    this.#total = new TimedCalls(this, createTimer(options.createdNs ?? clock.nowNs()), undefined);
    this.#unnamed = keepsCounts ? new CallCounts() : undefined;
    this.#counts = this.#unnamed && new Map([['', this.#unnamed]]);
    this.#names = new NameTable(budget, (name, atNs = clock.nowNs()) => {
      const calls = this.#createCalls(name, (alsoInto) => createTimer(atNs, alsoInto));
      if (this.#shown !== undefined) this.#show(this.#shown, name, calls);
      return calls;
    });
    if (options.showsEarly === true) this.#shown = this.#showAll();
  }

  /** Calls counted under `(other)` although they had a name. */
  get foldedCount(): number {
    return this.#names.foldedCount;
  }

  /** Failed calls, with or without a name. */
  get errorCount(): number {
    return this.#total.count;
  }

  /** Names with an entry, including `(other)`. */
  get nameCount(): number {
    return this.#names.entries.size;
  }

  /**
   * Counters since the start by name, in order of admission; `''` is what counts on the totals only. Their sum is the
   * total. Empty without `keepsCounts`. A live map.
   */
  get counts(): ReadonlyMap<string, CallCountsReading> {
    return this.#counts ?? new Map();
  }

  /** `name`, e.g. `E.Demo.TestInOut`, is undefined if the call has none. */
  recordAnswered(
    name: string | undefined,
    status: number,
    durationNs: number,
    nowNs: number = this.#clock.nowNs(),
  ): void {
    this.#answered(
      name === undefined ? undefined : this.#names.forAnswer(name, status, nowNs),
      status,
      durationNs,
      nowNs,
    );
  }

  /**
   * Same as `recordAnswered`, for a call object that may be recorded again. It caches the entry of its name: with 2,000
   * names neither that entry nor the map to it is still in the processor's cache.
   */
  recordCall(call: Omit<TimedCall, 'kind'>, status: number, durationNs: number, nowNs: number): void {
    const kept = call.countedOn as TimedCalls | undefined;
    if (kept?.owner === this) {
      this.#answered(kept, status, durationNs, nowNs);
      return;
    }
    this.recordAnswered(call.name, status, durationNs, nowNs);
    // Only the name's own entry: a call counted under `(other)` must also raise `foldedCount`.
    call.countedOn = this.#names.entries.get(call.name);
  }

  #answered(named: TimedCalls | undefined, status: number, durationNs: number, nowNs: number): void {
    const isError = status >= 500;
    this.#total.timer.update(durationNs, nowNs);
    named?.timer.update(durationNs, nowNs);
    this.#countsOf(named)?.answered(status, durationNs);
    if (!isError) return;
    this.#total.markError(this.#clock, nowNs);
    named?.markError(this.#clock, nowNs);
  }

  /** An error answer that the caller caused: counts as an error, but creates no name. */
  recordRefused(name: string, durationNs: number): void {
    const nowNs = this.#clock.nowNs();
    const named = this.#names.find(name);
    this.#countsOf(named)?.refused(durationNs);
    for (const calls of [this.#total, named]) {
      calls?.timer.update(durationNs, nowNs);
      calls?.markError(this.#clock, nowNs);
    }
  }

  /** No answer from the upstream: an error without a duration, which creates no name. */
  recordFailed(name: string | undefined): void {
    const nowNs = this.#clock.nowNs();
    const named = name === undefined ? undefined : this.#names.find(name);
    this.#countsOf(named)?.failed();
    this.#total.markError(this.#clock, nowNs);
    named?.markError(this.#clock, nowNs);
  }

  /**
   * Writes all counts first, without a pause, so that the totals are the sum of the names; then the rest, with a pause
   * after each name. The caller must consume it to its end.
   */
  *save(out: ArchiveWriter): Generator<void> {
    out.count(this.#names.foldedCount);
    this.#total.saveCounts(out);
    this.#unnamed?.save(out);
    const named = [...this.#names.entries];
    out.count(named.length);
    for (const [name, calls] of named) {
      out.name(name);
      calls.saveCounts(out);
    }
    yield;
    this.#total.save(out);
    for (const [, calls] of named) {
      calls.save(out);
      yield;
    }
  }

  /** Must be called before anything is recorded. */
  load(input: ArchiveReader): void {
    this.#names.foldedCount = input.count();
    const total = this.#total.loadCounts(input);
    this.#unnamed?.load(input);
    const named: { readonly calls: TimedCalls; readonly saved: SavedCounts }[] = [];
    for (let left = input.count(); left > 0; left -= 1) {
      const calls = this.#names.readmit(input.name());
      named.push({ calls, saved: calls.loadCounts(input) });
    }
    this.#total.load(input, this.#clock, total);
    for (const { calls, saved } of named) calls.load(input, this.#clock, saved);
  }

  /** The totals and all names. The maps are live. */
  metrics(): MetricSet {
    this.#shown ??= this.#showAll();
    return { ...emptyMetricSet, ...this.#shown };
  }

  /** The metrics of one name without the totals; undefined if the name has no entry. */
  metricsOf(name: string): MetricSet | undefined {
    const calls = this.#names.entries.get(name);
    if (calls === undefined) return undefined;
    return { ...emptyMetricSet, ...this.#show({ timers: new Map(), meters: new Map() }, name, calls) };
  }

  #createCalls(name: string, create: (alsoInto?: DurationBuckets) => Timer): TimedCalls {
    if (this.#counts === undefined) return new TimedCalls(this, create(), undefined);
    // A rule may produce an empty name, which shares the counts of calls without a name.
    const shared = this.#counts.get(name);
    if (shared !== undefined) return new TimedCalls(this, create(), shared);
    const counts = new CallCounts();
    this.#counts.set(name, counts);
    return new TimedCalls(this, counts.timedBy(create), counts);
  }

  #countsOf(named: TimedCalls | undefined): CallCounts | undefined {
    return named === undefined ? this.#unnamed : named.counts;
  }

  #showAll(): Shown {
    const shown: Shown = {
      timers: new Map([[this.#prefix, this.#total.timer]]),
      meters: new Map([[`${this.#prefix}.errors`, this.#total]]),
    };
    for (const [name, calls] of this.#names.entries) this.#show(shown, name, calls);
    return shown;
  }

  #show(shown: Shown, name: string, calls: TimedCalls): Shown {
    shown.timers.set(`${this.#prefix}.${name}`, calls.timer);
    shown.meters.set(`${this.#prefix}.${name}.errors`, calls);
    return shown;
  }
}
