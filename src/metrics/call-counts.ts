import type { ArchiveReader } from '../state/archive/archive-reader.ts';
import type { ArchiveWriter } from '../state/archive/archive-writer.ts';
import { DurationBuckets, type DurationBucketsReading } from './duration-buckets.ts';
import type { Timer } from './timer.ts';

/** What a reader may do with `CallCounts`. */
export interface CallCountsReading {
  /** Answered with a status below 400. */
  readonly ok: number;
  /** Answered with a status of 400 to 499. */
  readonly clientErrors: number;
  /** The same calls that the meter of errors counts: status 500 and above, refused over Comet, or no answer. */
  readonly errors: number;
  /** Of the answered ones: all but those errors that had no answer. */
  readonly durations: DurationBucketsReading;
}

/** What has become of the calls of one name since the start: each counts exactly once. Plain counters that never go down. */
export class CallCounts implements CallCountsReading {
  readonly #durations = new DurationBuckets();
  #timer: Timer | undefined;
  ok = 0;
  clientErrors = 0;
  errors = 0;

  /** The timer of the same calls, as `create` makes it, counts their durations here as well from now on, and in its own time. */
  timedBy(create: (alsoInto: DurationBuckets) => Timer): Timer {
    this.#timer = create(this.#durations);
    return this.#timer;
  }

  get durations(): DurationBuckets {
    this.#timer?.settle();
    return this.#durations;
  }

  answered(status: number, durationNs: number): void {
    if (this.#timer === undefined) this.#durations.add(durationNs);
    if (status < 400) this.ok += 1;
    else if (status < 500) this.clientErrors += 1;
    else this.errors += 1;
  }

  save(out: ArchiveWriter): void {
    out.count(this.ok);
    out.count(this.clientErrors);
    out.count(this.errors);
    this.durations.save(out);
  }

  load(input: ArchiveReader): void {
    this.ok = input.count();
    this.clientErrors = input.count();
    this.errors = input.count();
    this.durations.load(input);
  }

  refused(durationNs: number): void {
    if (this.#timer === undefined) this.#durations.add(durationNs);
    this.errors += 1;
  }

  failed(): void {
    this.errors += 1;
  }
}
