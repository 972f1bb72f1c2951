export interface CounterReading {
  readonly count: number;
}

/** Starts at 0 and, unlike elsewhere, may go down: it also counts what exists now, e.g. monitorings. */
export class Counter implements CounterReading {
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(n = 1): void {
    this.#count += n;
  }
}
