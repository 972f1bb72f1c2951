import type { ArchiveReader } from '../state/archive/archive-reader.ts';
import type { ArchiveWriter } from '../state/archive/archive-writer.ts';
import { DurationBuckets, type DurationBucketsReading } from './duration-buckets.ts';
import type { Timer } from './timer.ts';

export interface CallCountsReading {
  /** Answers with a status below 400. */
  readonly ok: number;
  /** Answers with a status of 400 to 499. */
  readonly clientErrors: number;
  /** The calls of the error meter: status 500 and above, refused over Comet, or no answer. */
  readonly errors: number;
  /** Durations of all calls except the errors without an answer. */
  readonly durations: DurationBucketsReading;
}

/** Outcomes of the calls of one name since the start. Each call counts exactly once; counters never go down. */
export class CallCounts implements CallCountsReading {
  readonly #durations = new DurationBuckets();
  #timer: Timer | undefined;
  ok = 0;
  clientErrors = 0;
  errors = 0;

  /** From now on the timer that `create` makes counts durations here too, when it settles. */
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
