/** Names of one section that fit into one step: sorting them takes about 0.1 ms. */
const STEP_NAMES = 500;

type Names = readonly string[];

/** The names of a section in order. */
export interface Ordered<Metric> {
  readonly names: Names;
  /** What is called so, by the same index, once somebody has asked: `metricAt` does. */
  readonly found: (Metric | undefined)[];
}

/** What the name at `index` stands for. Of 22,000 names, looking them up again took a tenth of an answer. */
export function metricAt<Metric>(
  { names, found }: Ordered<Metric>,
  index: number,
  section: ReadonlyMap<string, Metric>,
): Metric {
  const metric = found[index] ?? section.get(names[index] as string);
  found[index] = metric;
  return metric as Metric;
}

/** Pieces of no text, each a place to stop at, and in the end the result. */
type Steps<Result> = Generator<'', Result, undefined>;

/**
 * Knows the order of names: ascending by their UTF-16 code units, as Java's `String.compareTo` has it. What a large section
 * had before is remembered, since its names only ever get more, and always name the same: an answer sorts those that are new,
 * in small steps.
 */
export class NameOrder {
  /** By section; what is remembered are those of its names that came first. */
  readonly #known = new WeakMap<ReadonlyMap<string, unknown>, Ordered<unknown>>();

  /** The names of `section`, which may get more meanwhile, but never loses one. */
  *sorted<Metric>(section: ReadonlyMap<string, Metric>): Steps<Ordered<Metric>> {
    if (section.size <= STEP_NAMES) return { names: [...section.keys()].sort(), found: [] };
    const before = this.#known.get(section) as Ordered<Metric> | undefined;
    const known = before?.names ?? [];
    if (before !== undefined && known.length === section.size) return before;
    const runs = yield* sortedRuns(section.keys(), known.length);
    // By pairs from the front, so that each new name is moved a few times only; and once among those that were known.
    while (runs.length > 1) runs.push(yield* merged(runs.shift() ?? [], runs.shift() ?? []));
    const all: Ordered<Metric> = { names: yield* merged(known, runs[0] ?? []), found: [] };
    this.#known.set(section, all);
    return all;
  }
}

/** All but the first `skipped`, in runs that are sorted each. */
function* sortedRuns(names: Iterable<string>, skipped: number): Steps<Names[]> {
  const runs: Names[] = [];
  let run: string[] = [];
  let seen = 0;
  for (const name of names) {
    if (seen >= skipped) run.push(name);
    seen += 1;
    if (seen % STEP_NAMES !== 0) continue;
    if (run.length > 0) runs.push(run.sort());
    run = [];
    yield '';
  }
  if (run.length > 0) runs.push(run.sort());
  return runs;
}

function* merged(left: Names, right: Names): Steps<Names> {
  if (left.length === 0) return right;
  const all: string[] = [];
  let [i, j] = [0, 0];
  while (all.length < left.length + right.length) {
    const [one, other] = [left[i], right[j]];
    if (other === undefined || (one !== undefined && one < other)) {
      all.push(one as string);
      i += 1;
    } else {
      all.push(other);
      j += 1;
    }
    if (all.length % STEP_NAMES === 0) yield '';
  }
  return all;
}
