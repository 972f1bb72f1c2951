export const STEP_SECONDS = 5;
/** Kept steps: the last hour. */
export const MAX_STEPS = 720;
export const STEPS_PER_MINUTE = 12;
export const SPARK_POINTS = 12;
export const STEPS_PER_SPARK_POINT = 5;

/** The increase of a rising count since the last call, or since now for the first. */
export function createIncrease(read: () => number): () => number {
  let last = read();
  return () => {
    const before = last;
    last = read();
    return last - before;
  };
}

export function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

export interface NameCount {
  readonly name: string;
  readonly count: number;
}

interface Steps {
  /** At the end of the last step. */
  count: number;
  /** Oldest first. */
  increases: number[];
}

/** The increase of a count of each name in each of the last steps. Takes some hundred bytes for each name. */
export class NameSteps {
  readonly #length: number;
  readonly #byName = new Map<string, Steps>();

  /** Existing counts, e.g. restored ones, belong to no step. */
  constructor(length: number, counts: Iterable<NameCount>) {
    this.#length = length;
    for (const { name, count } of counts) this.#stepsOf(name).count = count;
  }

  /** Ends a step for all names. */
  take(counts: Iterable<NameCount>): void {
    for (const { name, count } of counts) {
      const steps = this.#stepsOf(name);
      // In place: `push` would reserve twice the memory.
      steps.increases.copyWithin(0, 1);
      steps.increases[this.#length - 1] = Math.max(0, count - steps.count);
      steps.count = count;
    }
  }

  /** Oldest first; zeros for a name that was added since the last step. */
  increasesOf(name: string): readonly number[] {
    return this.#byName.get(name)?.increases ?? this.#zeros();
  }

  /** The increase since the oldest step, given the present count: with 12 steps of 5 s, in the last 55 to 60 s. */
  recentOf({ name, count }: NameCount): number {
    const { increases = [], count: before = 0 } = this.#byName.get(name) ?? {};
    return sumOf(increases) - (increases[0] ?? 0) + Math.max(0, count - before);
  }

  /** The name with the largest recent increase; undefined if no count rose. */
  largestOf(counts: Iterable<NameCount>): NameCount | undefined {
    let largest: NameCount | undefined;
    for (const each of counts) {
      const count = this.recentOf(each);
      if (count > (largest?.count ?? 0)) largest = { name: each.name, count };
    }
    return largest;
  }

  fold(name: string, into: string): void {
    const from = this.#byName.get(name);
    if (from === undefined) return;
    this.#byName.delete(name);
    const to = this.#stepsOf(into);
    to.count += from.count;
    to.increases = to.increases.map((increase, at) => increase + (from.increases[at] ?? 0));
  }

  #stepsOf(name: string): Steps {
    const steps = this.#byName.get(name) ?? { count: 0, increases: this.#zeros() };
    this.#byName.set(name, steps);
    return steps;
  }

  #zeros(): number[] {
    return new Array<number>(this.#length).fill(0);
  }
}

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
