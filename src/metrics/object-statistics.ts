import type { Clock } from '../base/clock.ts';
import type { SavedFields, SavedRecord } from '../state/saved-record.ts';
import { Meter } from './meter.ts';
import type { GrowingMetricSet } from './metric-set.ts';
import { type NameBudget, NameTable, OTHER_NAME } from './name-table.ts';

class ObservedObject {
  /** Current monitorings: unlike a counter of Prometheus, it may go down. */
  readonly subscriptions = { count: 0 };
  readonly newValues: Meter;
  /** Received values since `takeMinute`. */
  minuteValues = 0;

  constructor(clock: Clock, createdNs?: number) {
    this.newValues = new Meter(clock, createdNs);
  }

  takeMinute(): number {
    const { minuteValues } = this;
    this.minuteValues = 0;
    return minuteValues;
  }
}

/**
 * Counts monitorings and received values: gauge `object.monitored`, counters `object.subscriptions` and
 * `object.<name>.subscriptions`, meters `object.newValues` and `object.<name>.newValues`. Objects beyond the budget
 * share `(other)`, which `object.monitored` counts as one.
 */
export class ObjectStatistics extends NameTable<ObservedObject> {
  readonly #clock: Clock;
  readonly total: ObservedObject;
  /** Objects with at least one current monitoring; `(other)` is one. */
  monitored = 0;

  constructor({ clock, budget, createdNs }: { clock: Clock; budget: NameBudget; createdNs?: number }) {
    super('object', budget);
    this.#clock = clock;
    this.total = new ObservedObject(clock, createdNs);
  }

  /** By name, in order of admission. A live map. */
  get objects(): ReadonlyMap<string, Readonly<ObservedObject>> {
    return this.entries;
  }

  /** A read over REST counts as one received value if its status is 2xx. */
  recordRead(name: string, status: number, nowNs: number = this.#clock.nowNs()): void {
    const object = this.forAnswer(name, status, nowNs);
    if (status >= 200 && status <= 299) this.#receive(object, nowNs);
  }

  /** A read that brought no value. */
  recordEmpty(name: string, status: number, nowNs: number): void {
    this.forAnswer(name, status, nowNs);
  }

  recordValue(name: string): void {
    this.#receive(this.admit(name), this.#clock.nowNs());
  }

  subscribe(name: string): void {
    const { subscriptions } = this.admit(name);
    if (subscriptions.count === 0) this.monitored += 1;
    subscriptions.count += 1;
    this.total.subscriptions.count += 1;
  }

  /** Continues a monitoring after a restart. It was counted in `foldedCount`, if at all, when it began. */
  resubscribe(name: string): void {
    const { foldedCount } = this;
    this.subscribe(name);
    this.foldedCount = foldedCount;
  }

  /** Does nothing if no monitoring has begun: counts never fall below 0. */
  unsubscribe(name: string): void {
    // Counted under `(other)` if the budget was exhausted.
    const { subscriptions } = this.entries.get(name) ?? this.entries.get(OTHER_NAME) ?? {};
    if (subscriptions === undefined || subscriptions.count === 0) return;
    subscriptions.count -= 1;
    if (subscriptions.count === 0) this.monitored -= 1;
    this.total.subscriptions.count -= 1;
  }

  /**
   * Received values, all counts of one moment as in `CallStatistics.save`. Monitorings are not saved: their owner calls
   * `resubscribe`.
   */
  *save(): Generator<SavedFields> {
    const record = 'object';
    const total = { record, folded: this.foldedCount, count: this.total.newValues.count };
    const kept = [...this.entries].filter(([name]) => !this.givesWay(name));
    const named = kept.map(([name, { newValues }]) => ({ name, newValues, count: newValues.count }));
    yield { ...total, rates: this.total.newValues.save() };
    for (const { name, newValues, count } of named) yield { record, name, count, rates: newValues.save() };
  }

  /** Restores one record. Must be called before anything is recorded. */
  load(saved: SavedRecord): void {
    const name = saved.text('name');
    const count = saved.count('count');
    // An object without a value may have failed only; a monitoring that continues keeps it.
    const { newValues } = name === undefined ? this.total : this.readmit(name, count === 0);
    newValues.load(saved.record('rates'), count);
    if (name === undefined) this.foldedCount = saved.count('folded');
  }

  protected create(): ObservedObject {
    return new ObservedObject(this.#clock);
  }

  /** An object whose reads all failed has no counts that could move. */
  protected fold(name: string): number {
    this.shown?.counters.delete(`object.${name}.subscriptions`);
    this.shown?.meters.delete(`object.${name}.newValues`);
    return 0;
  }

  #receive(object: ObservedObject | undefined, nowNs: number): void {
    this.total.newValues.mark(1, nowNs);
    if (object === undefined) return;
    object.newValues.mark(1, nowNs);
    object.minuteValues += 1;
  }

  protected show(set: GrowingMetricSet, path: string, object: ObservedObject): GrowingMetricSet {
    if (object === this.total) set.gauges.set('object.monitored', { type: 'integer', read: () => this.monitored });
    set.counters.set(`${path}.subscriptions`, object.subscriptions);
    set.meters.set(`${path}.newValues`, object.newValues);
    return set;
  }
}
