/** The counts of one client: the truth that the sidecar's statistics are compared with. */

export type CallCount = Readonly<Record<'answered' | 'failed', number>>;

export class Tally {
  readonly values = new Map<string, number>();
  readonly monitored = new Set<string>();
  readonly calls = new Map<string, CallCount>();
  valueCount = 0;

  countValue(object: string): void {
    this.valueCount += 1;
    this.values.set(object, (this.values.get(object) ?? 0) + 1);
  }

  countCall(name: string, isFailed: boolean): void {
    const count = this.calls.get(name) ?? { answered: 0, failed: 0 };
    this.calls.set(name, { answered: count.answered + 1, failed: count.failed + (isFailed ? 1 : 0) });
  }
}

export type Counts = ReturnType<typeof sumOf>;

/** Tallies added up, with sorted names and without zeros, so that two of them can be compared by `toEqual`. */
export function sumOf(tallies: Iterable<Tally>) {
  const subscriptions = new Map<string, number>();
  const values = new Map<string, number>();
  const calls = new Map<string, CallCount>();
  for (const tally of tallies) {
    for (const object of tally.monitored) subscriptions.set(object, (subscriptions.get(object) ?? 0) + 1);
    for (const [object, count] of tally.values) values.set(object, (values.get(object) ?? 0) + count);
    for (const [name, { answered, failed }] of tally.calls) {
      const sum = calls.get(name) ?? { answered: 0, failed: 0 };
      calls.set(name, { answered: sum.answered + answered, failed: sum.failed + failed });
    }
  }
  return { subscriptions: sorted(subscriptions), values: sorted(values), calls: sorted(calls) };
}

export function sorted<T>(entries: Iterable<readonly [string, T]>): Record<string, T> {
  return Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
}
