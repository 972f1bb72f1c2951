import { STEPS_PER_MINUTE } from './minute-calls.ts';

/** Counters by key. They only rise; a key that is missing is 0. */
export type ReadCounters = () => ReadonlyMap<string, number>;

export interface RecentCount {
  /** Since this process began to measure; what it restored is not in it. */
  readonly sinceStart: number;
  /** In the last 55 to 60 s. */
  readonly inMinute: number;
}

/** What plain counters gained since the start, and in the last minute: counters since the start say nothing about now. */
export class RecentCounts {
  readonly #read: ReadCounters;
  readonly #atStart: ReadonlyMap<string, number>;
  /** At the end of each of the last steps, oldest first. */
  readonly #steps: ReadonlyMap<string, number>[];

  constructor(read: ReadCounters) {
    this.#read = read;
    this.#atStart = read();
    this.#steps = [this.#atStart];
  }

  /** Ends a step. */
  take(): void {
    this.#steps.push(this.#read());
    if (this.#steps.length > STEPS_PER_MINUTE) this.#steps.shift();
  }

  /** All counters of now, by key. */
  read(): ReadonlyMap<string, RecentCount> {
    const before = this.#steps[0] ?? this.#atStart;
    return new Map(
      Array.from(this.#read(), ([key, count]) => [
        key,
        { sinceStart: count - (this.#atStart.get(key) ?? 0), inMinute: count - (before.get(key) ?? 0) },
      ]),
    );
  }
}
