/** Numbers in one spark line. */
export const SPARK_POINTS = 12;
/** Steps of the history for each number. */
export const STEPS_PER_SPARK_POINT = 5;

const FIRST_ROWS = 16;

/** A count that never falls. */
interface Counted {
  readonly count: number;
}

/**
 * Counts of each name in each of the last 12 x 25 s. Names are those of a `NameTable`: they come in order of admission
 * and are never removed, so the position of a name is its row. Takes 56 bytes for each name.
 */
export class SparkLines {
  #capacity = FIRST_ROWS;
  /** `SPARK_POINTS` numbers for each row. */
  #points = new Uint32Array(FIRST_ROWS * SPARK_POINTS);
  /** Count of each row at the last step. */
  #counted = new Float64Array(FIRST_ROWS);
  #rows = 0;
  #next = 0;

  /** Existing counts, e.g. restored ones, belong to no step. */
  constructor(names: Iterable<Counted>) {
    for (const { count } of names) this.#addRow(count);
  }

  get rows(): number {
    return this.#rows;
  }

  /** Ends a step for all names; takes some µs for each hundred of them. */
  take(names: Iterable<Counted>): void {
    const at = this.#next;
    let row = 0;
    for (const { count } of names) {
      if (row === this.#rows) this.#addRow(0);
      this.#points[row * SPARK_POINTS + at] = Math.max(0, count - (this.#counted[row] as number));
      this.#counted[row] = count;
      row += 1;
    }
    this.#next = (at + 1) % SPARK_POINTS;
  }

  /** Oldest first; zeros for a name that was added since the last step. */
  lineOf(row: number): number[] {
    const line: number[] = [];
    for (let i = 0; i < SPARK_POINTS; i += 1) {
      const at = (this.#next + i) % SPARK_POINTS;
      line.push(row < this.#rows ? (this.#points[row * SPARK_POINTS + at] as number) : 0);
    }
    return line;
  }

  #addRow(counted: number): void {
    if (this.#rows === this.#capacity) this.#grow();
    this.#counted[this.#rows] = counted;
    this.#rows += 1;
  }

  #grow(): void {
    this.#capacity *= 2;
    const points = new Uint32Array(this.#capacity * SPARK_POINTS);
    points.set(this.#points);
    this.#points = points;
    const counted = new Float64Array(this.#capacity);
    counted.set(this.#counted);
    this.#counted = counted;
  }
}

/** Whether that step of the history completes a number of the lines. */
export function isSparkStep(seq: number): boolean {
  return seq % STEPS_PER_SPARK_POINT === 0;
}
