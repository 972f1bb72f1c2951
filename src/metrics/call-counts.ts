import type { DurationBucketsReading } from '../base/metric-description.ts';
import type { SavedFields, SavedRecord } from '../state/saved-record.ts';
import { CALL_BOUNDS, DurationBuckets } from './duration-buckets.ts';

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

  constructor(isExponential = false) {
    this.durations = new DurationBuckets(CALL_BOUNDS, isExponential);
  }

  answered(status: number, durationNs: number): void {
    this.durations.add(durationNs);
    if (status < 400) this.ok += 1;
    else if (status < 500) this.clientErrors += 1;
    else this.errors += 1;
  }

  refused(durationNs: number): void {
    this.durations.add(durationNs);
    this.errors += 1;
  }

  failed(): void {
    this.errors += 1;
  }

  /** Adds the calls of `from`. */
  absorb(from: CallCounts): void {
    this.ok += from.ok;
    this.clientErrors += from.clientErrors;
    this.errors += from.errors;
    this.late += from.late;
    this.durations.absorb(from.durations);
  }

  save(): SavedFields {
    const { ok, clientErrors, errors, late } = this;
    return { ok, clientErrors, errors, late, durations: this.durations.save() };
  }

  load(saved: SavedRecord): void {
    this.ok = saved.count('ok');
    this.clientErrors = saved.count('clientErrors');
    this.errors = saved.count('errors');
    this.late = saved.count('late');
    this.durations.load(saved.record('durations'));
  }
}

export type CallCountsReading = Readonly<Pick<CallCounts, 'ok' | 'clientErrors' | 'errors' | 'late'>> & {
  readonly durations: DurationBucketsReading;
};
