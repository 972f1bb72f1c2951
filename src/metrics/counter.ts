/** What a reader may do with a counter. */
export interface CounterReading {
  readonly count: number;
}

/** A whole number that starts at 0 and, unlike elsewhere, may go down: it also counts what is there now, e.g. monitorings. */
export class Counter implements CounterReading {
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(n = 1): void {
    this.#count += n;
  }
}
