import { sumOf } from './steps.ts';

/** A name, and a count of it that never falls. */
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

  /** The name with the largest increase in all steps together; undefined if no count rose. */
  get largest(): NameCount | undefined {
    let largest: NameCount | undefined;
    for (const [name, { increases }] of this.#byName) {
      const count = sumOf(increases);
      if (count > (largest?.count ?? 0)) largest = { name, count };
    }
    return largest;
  }

  /** The counts of a name have moved to another. */
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
