import { NS_PER_US } from '../base/clock.ts';
import type { SavedFields, SavedRecord } from '../state/saved-record.ts';
import { type BucketBounds, CALL_BOUNDS, DurationBuckets, MAX_DURATION_NS } from './duration-buckets.ts';
import { bucketOf, FINE_PER_OCTAVE, SparseBuckets } from './sparse-buckets.ts';

/** Different statuses for each name; more count as `OTHER_STATUS`. */
const MAX_STATUSES = 20;
const OTHER_STATUS = 'other';
/** Keys of `statuses` for a Comet call that was refused, and for one without an answer. */
const REFUSED = 'refused';
const UNANSWERED = 'no answer';

/**
 * Outcomes of the calls of one name since the start. Each call counts exactly once in `ok`, `clientErrors` or `errors`.
 */
export class CallCounts {
  /** Durations of all calls except the errors without an answer. */
  readonly durations: DurationBuckets;
  /** The same in `CALL_BOUNDS`, so that what is usual does not depend on `metrics.prometheus.buckets`. */
  readonly usual: DurationBuckets;
  /** Answers with a status below 400. */
  ok = 0;
  /** Answers with a status of 400 to 499. */
  clientErrors = 0;
  /** The calls of the error meter: status 500 and above, refused over Comet, or no answer. */
  errors = 0;
  /** Answers after `calls.clientTimeout`; they also count as one of the above. */
  late = 0;
  /** The same calls since the last minute ended. */
  readonly minute = new MinuteCalls();
  /** Calls that were not `ok`, by status, e.g. `503`, or `refused`, `no answer`, `other`. Undefined without any. */
  statuses: Map<string, number> | undefined;

  constructor(bounds: BucketBounds = CALL_BOUNDS, isExponential = false) {
    this.durations = new DurationBuckets(bounds, isExponential);
    this.usual = bounds === CALL_BOUNDS ? this.durations : new DurationBuckets();
  }

  /** `isLate`: the call took longer than clients wait. */
  answered(status: number, durationNs: number, isLate: boolean): void {
    this.#addDuration(durationNs, isLate);
    if (status < 400) {
      this.ok += 1;
      this.minute.ok += 1;
      return;
    }
    if (status < 500) {
      this.clientErrors += 1;
      this.minute.clientErrors += 1;
    } else this.#addError();
    this.#countStatus(String(status));
  }

  refused(durationNs: number, isLate: boolean): void {
    this.#addDuration(durationNs, isLate);
    this.#addError();
    this.#countStatus(REFUSED);
  }

  failed(): void {
    this.#addError();
    this.#countStatus(UNANSWERED);
  }

  #addDuration(durationNs: number, isLate: boolean): void {
    this.durations.add(durationNs);
    if (this.usual !== this.durations) this.usual.add(durationNs);
    this.minute.addDuration(durationNs);
    if (!isLate) return;
    this.late += 1;
    this.minute.late += 1;
  }

  #addError(): void {
    this.errors += 1;
    this.minute.errors += 1;
  }

  #countStatus(status: string, times = 1): void {
    this.statuses ??= new Map();
    const { size } = this.statuses;
    const key = size < MAX_STATUSES || this.statuses.has(status) ? status : OTHER_STATUS;
    this.statuses.set(key, (this.statuses.get(key) ?? 0) + times);
  }

  absorb(from: CallCounts): void {
    this.ok += from.ok;
    this.clientErrors += from.clientErrors;
    this.errors += from.errors;
    this.late += from.late;
    this.durations.absorb(from.durations);
    if (this.usual !== this.durations) this.usual.absorb(from.usual);
    this.minute.absorb(from.minute);
    for (const [status, times] of from.statuses ?? []) this.#countStatus(status, times);
  }

  save(): SavedFields {
    const { ok, clientErrors, errors, late } = this;
    const statuses = this.statuses && Array.from(this.statuses, ([status, count]) => ({ status, count }));
    const usual = this.usual === this.durations ? undefined : this.usual.save();
    return { ok, clientErrors, errors, late, statuses, durations: this.durations.save(), usual };
  }

  load(saved: SavedRecord): void {
    this.ok = saved.count('ok');
    this.clientErrors = saved.count('clientErrors');
    this.errors = saved.count('errors');
    this.late = saved.count('late');
    if (saved.has('statuses')) {
      for (const each of saved.records('statuses'))
        this.#countStatus(each.text('status') ?? OTHER_STATUS, each.count('count'));
    }
    this.durations.load(saved.record('durations'));
    if (this.usual !== this.durations) this.usual.load(saved.record(saved.has('usual') ? 'usual' : 'durations'));
  }
}

/** The calls of one name in one minute. Outcomes are those of `CallCounts`. */
export type MinuteReading = Readonly<NonNullable<ReturnType<MinuteCalls['read']>>>;

/** Collects the calls of one name until `take`, which ends the minute. */
export class MinuteCalls {
  ok = 0;
  clientErrors = 0;
  errors = 0;
  late = 0;
  #maxNs = 0;
  /** Undefined until the first duration: most names have no call in most minutes. */
  #buckets: SparseBuckets | undefined;

  /** Caps and ignores the same durations as `Timer.update`. */
  addDuration(durationNs: number): void {
    if (!(durationNs >= 0)) return;
    const cutNs = Math.min(durationNs, MAX_DURATION_NS);
    this.#buckets ??= new SparseBuckets();
    this.#buckets.count(bucketOf(Math.round(cutNs / NS_PER_US), FINE_PER_OCTAVE));
    if (cutNs > this.#maxNs) this.#maxNs = cutNs;
  }

  absorb(from: MinuteCalls): void {
    this.ok += from.ok;
    this.clientErrors += from.clientErrors;
    this.errors += from.errors;
    this.late += from.late;
    this.#maxNs = Math.max(this.#maxNs, from.#maxNs);
    if (from.#buckets === undefined) return;
    this.#buckets ??= new SparseBuckets();
    this.#buckets.absorb(from.#buckets);
  }

  /**
   * The minute so far; undefined if no call has ended in it. `maxNs`: of the calls with a duration. `buckets`: as
   * `SparseBuckets.save` returns them, with `FINE_PER_OCTAVE`.
   */
  read() {
    const { ok, clientErrors, errors, late } = this;
    if (ok + clientErrors + errors === 0) return undefined;
    const buckets = this.#buckets?.save() ?? [];
    return { ok, clientErrors, errors, late, maxNs: this.#maxNs, buckets };
  }

  /** As `read`, and begins the next minute. */
  take(): MinuteReading | undefined {
    const reading = this.read();
    Object.assign(this, { ok: 0, clientErrors: 0, errors: 0, late: 0 });
    this.#maxNs = 0;
    this.#buckets = undefined;
    return reading;
  }
}
