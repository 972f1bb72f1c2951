import type { DurationBucketsReading } from '../base/metric-description.ts';
import type { SavedFields, SavedRecord } from '../state/saved-record.ts';
import { type BucketBounds, DurationBuckets } from './duration-buckets.ts';
import { MinuteCalls } from './minute-calls.ts';

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

  /** `bounds`: default `CALL_BOUNDS`. */
  constructor(bounds?: BucketBounds, isExponential = false) {
    this.durations = new DurationBuckets(bounds, isExponential);
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
    this.minute.absorb(from.minute);
    for (const [status, times] of from.statuses ?? []) this.#countStatus(status, times);
  }

  save(): SavedFields {
    const { ok, clientErrors, errors, late } = this;
    const statuses = this.statuses && Array.from(this.statuses, ([status, count]) => ({ status, count }));
    return { ok, clientErrors, errors, late, statuses, durations: this.durations.save() };
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
  }
}

export type CallCountsReading = Readonly<Pick<CallCounts, 'ok' | 'clientErrors' | 'errors' | 'late'>> & {
  readonly durations: DurationBucketsReading;
  readonly minute: Pick<MinuteCalls, 'read' | 'take'>;
  readonly statuses?: ReadonlyMap<string, number> | undefined;
};
