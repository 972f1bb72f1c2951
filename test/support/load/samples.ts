/** Samples of a Prometheus text, e.g. `d2_calls_total{kind="rpc",outcome="ok"} 17`. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export class Samples {
  readonly #all: readonly Sample[];

  constructor(text: string) {
    this.#all = text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map(toSample);
  }

  /** Sum of all samples of that name with matching labels. Zero without any. */
  sum(name: string, labels: Readonly<Record<string, string | readonly string[]>> = {}): number {
    const wanted = Object.entries(labels);
    return this.#all
      .filter((sample) => sample.name === name && wanted.every(([key, value]) => fits(sample.labels[key], value)))
      .reduce((total, { value }) => total + value, 0);
  }

  /** Whether a sample of that name exists: an empty sum is no evidence. */
  has(name: string): boolean {
    return this.#all.some((sample) => sample.name === name);
  }
}

function fits(value: string | undefined, wanted: string | readonly string[]): boolean {
  return typeof wanted === 'string' ? value === wanted : value !== undefined && wanted.includes(value);
}

function toSample(line: string): Sample {
  const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
  if (match === null) throw new Error(`no sample: ${line.slice(0, 100)}`);
  const [, name = '', written = '', value = ''] = match;
  const labels = Object.fromEntries(
    [...written.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [key, text]),
  );
  return { name, labels, value: Number(value) };
}
