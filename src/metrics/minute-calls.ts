import { NS_PER_US } from '../base/clock.ts';
import { MAX_DURATION_NS } from './duration-buckets.ts';
import { bucketOf, FINE_PER_OCTAVE, SparseBuckets } from './sparse-buckets.ts';

/** The calls of one name in one minute. Outcomes are those of `CallCounts`. */
export interface MinuteReading {
  readonly ok: number;
  readonly clientErrors: number;
  readonly errors: number;
  readonly late: number;
  /** Of the calls with a duration. */
  readonly maxNs: number;
  /** As `SparseBuckets.save` returns them, with `FINE_PER_OCTAVE`. */
  readonly buckets: readonly number[];
}

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

  /** The minute so far; undefined if no call has ended in it. */
  read(): MinuteReading | undefined {
    const { ok, clientErrors, errors, late } = this;
    if (ok + clientErrors + errors === 0) return undefined;
    const buckets = this.#buckets?.save() ?? [];
    return { ok, clientErrors, errors, late, maxNs: this.#maxNs, buckets };
  }

  /** As `read`, and begins the next minute. */
  take(): MinuteReading | undefined {
    const reading = this.read();
    this.ok = 0;
    this.clientErrors = 0;
    this.errors = 0;
    this.late = 0;
    this.#maxNs = 0;
    this.#buckets = undefined;
    return reading;
  }
}
