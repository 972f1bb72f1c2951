import { STEPS_PER_MINUTE } from './steps.ts';

/** Counters by key. They only rise; a missing key means 0. */
export type ReadCounters = () => ReadonlyMap<string, number>;

export interface RecentCount {
  /** Since this process began to measure; restored counts are not included. */
  readonly sinceStart: number;
  /** In the last 55 to 60 s. */
  readonly inMinute: number;
}

/** Increases of plain counters since the start and in the last minute. */
export class RecentCounts {
  readonly #read: ReadCounters;
  readonly #atStart: ReadonlyMap<string, number>;
  /** Values at the end of each of the last steps, oldest first. */
  readonly #steps: ReadonlyMap<string, number>[];

  constructor(read: ReadCounters) {
    this.#read = read;
    this.#atStart = read();
    this.#steps = [this.#atStart];
  }

  take(): void {
    this.#steps.push(this.#read());
    if (this.#steps.length > STEPS_PER_MINUTE) this.#steps.shift();
  }

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
