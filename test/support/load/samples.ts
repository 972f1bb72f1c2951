import { samplesOf } from '../monitor/prometheus/samples.ts';

export class Samples {
  readonly #all: ReadonlyMap<string, number>;

  constructor(text: string) {
    this.#all = samplesOf(text);
  }

  /** Sum of all samples of that name with matching labels. Zero without any. */
  sum(name: string, labels: Readonly<Record<string, string | readonly string[]>> = {}): number {
    const wanted = Object.entries(labels).map(([label, values]) =>
      [values].flat().map((value) => `${label}="${value}"`),
    );
    return [...this.#all]
      .filter(([sample]) => sample === name || sample.startsWith(`${name}{`))
      .filter(([sample]) => wanted.every((pairs) => pairs.some((pair) => sample.includes(pair))))
      .reduce((sum, [, value]) => sum + value, 0);
  }
}
