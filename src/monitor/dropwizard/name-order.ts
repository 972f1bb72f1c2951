import { Section } from '../../metrics/metric-set.ts';

/** Names of a section that are sorted in one step; that takes about 0.1 ms. */
const STEP_NAMES = 500;

type Names = readonly string[];

interface Known {
  readonly names: Names;
  /** `Section.removals` before they were read. */
  readonly removals: number;
}

/** Yields empty pieces, at each of which the work can pause, and returns the result. */
type Steps<Result> = Generator<'', Result, undefined>;

/**
 * Sorts names ascending by their UTF-16 code units, as Java's `String.compareTo` does. It caches the order of large
 * sections. Names are mostly added, so an answer only has to sort the new ones, in small steps. After a removal it sorts
 * all of them again.
 */
export class NameOrder {
  /** By section: the sorted order of the names that it had at the last call. */
  readonly #known = new WeakMap<ReadonlyMap<string, unknown>, Known>();

  /**
   * The sorted names of `section`, each once. Names may be added to it and removed meanwhile: the result may have a name
   * that was removed, and lack one that was added.
   */
  *sorted(section: ReadonlyMap<string, unknown>): Steps<Names> {
    if (section.size <= STEP_NAMES) return [...section.keys()].sort();
    const removals = removalsOf(section);
    const cached = this.#known.get(section);
    const known = cached?.removals === removals ? cached.names : [];
    if (known.length === section.size) return known;
    const runs = yield* sortedRuns(section, known.length);
    // Merges pairs from the front, so that each new name is moved only a few times, and then once into the known names.
    while (runs.length > 1) runs.push(yield* merged(runs.shift() ?? [], runs.shift() ?? []));
    const all = yield* merged(known, runs[0] ?? []);
    // A name that was removed and added again may have been read twice.
    const names = removalsOf(section) === removals ? all : all.filter((name, at) => name !== all[at - 1]);
    this.#known.set(section, { names, removals });
    return names;
  }
}

function removalsOf(section: ReadonlyMap<string, unknown>): number {
  return section instanceof Section ? section.removals : 0;
}

/**
 * All names except the first `skipped`, as sorted runs. Reads as many as there are now: under a flood of names the
 * section would have no end.
 */
function* sortedRuns(section: ReadonlyMap<string, unknown>, skipped: number): Steps<Names[]> {
  const { size } = section;
  const runs: Names[] = [];
  let run: string[] = [];
  let seen = 0;
  for (const name of section.keys()) {
    if (seen === size) break;
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
