/** Violations. The first few of each sort are kept with their texts, all are counted. */
const KEPT_OF_EACH = 10;

export class Differences {
  readonly counts = new Map<string, number>();
  readonly first: string[] = [];

  add(sort: string, what: string): void {
    const count = (this.counts.get(sort) ?? 0) + 1;
    this.counts.set(sort, count);
    if (count <= KEPT_OF_EACH) this.first.push(`${sort}: ${what}`);
  }

  get examples(): string[] {
    return [...this.counts.keys()].map((sort) => this.first.find((line) => line.startsWith(`${sort}: `)) ?? sort);
  }

  get count(): number {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
  }
}
