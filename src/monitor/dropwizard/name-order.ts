import { Section } from '../../metrics/metric-set.ts';

/** Names of a section that are read in one step. */
const STEP_NAMES = 500;

type Names = readonly string[];

interface Known {
  readonly names: Names;
  /** `Section.removals` before they were read. */
  readonly removals: number;
}

/**
 * Sorts names ascending by their UTF-16 code units, as Java's `String.compareTo` does. It caches the order, since names
 * are mostly added: 3,000 names are sorted in 0.8 ms, a few new ones in 0.1 ms. After a removal it reads all again.
 */
export class NameOrder {
  /** By section: the sorted order of the names that it had at the last call. */
  readonly #known = new WeakMap<ReadonlyMap<string, unknown>, Known>();

  /**
   * The sorted names of `section`, each once; the empty pieces are points where the work can pause. Names may be added
   * to it and removed meanwhile: the result may have a name that was removed, and lack one that was added.
   */
  *sorted(section: ReadonlyMap<string, unknown>): Generator<'', Names, undefined> {
    const removals = removalsOf(section);
    const cached = this.#known.get(section);
    const known = cached?.removals === removals ? cached.names : [];
    // As many as there are now: under a flood of names the section would have no end.
    const { size } = section;
    if (known.length === size) return known;
    const all = [...known];
    let seen = 0;
    for (const name of section.keys()) {
      if (seen === size) break;
      if (seen >= known.length) all.push(name);
      seen += 1;
      if (seen % STEP_NAMES === 0) yield '';
    }
    // A name that was removed and added again may have been read twice.
    const names = (removalsOf(section) === removals ? all : [...new Set(all)]).sort();
    this.#known.set(section, { names, removals });
    return names;
  }
}

function removalsOf(section: ReadonlyMap<string, unknown>): number {
  return section instanceof Section ? section.removals : 0;
}
