export interface CounterReading {
  readonly count: number;
}

/**
 * Starts at 0. As in Dropwizard, and unlike a Prometheus counter, it may go down: it counts e.g. current monitorings.
 */
export class Counter implements CounterReading {
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(n = 1): void {
    this.#count += n;
  }
}
