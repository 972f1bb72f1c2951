/** Numbers in one spark line. */
export const SPARK_POINTS = 12;
/** Steps of the history for each number. */
export const STEPS_PER_SPARK_POINT = 5;

const FIRST_ROWS = 16;

/** The row of a name (`CallCounts.row`), and a count of it that never falls. */
type Counted = readonly [row: number, count: number];

/** Counts of each name in each of the last 12 x 25 s. Takes 56 bytes for each name. */
export class SparkLines {
  /** `SPARK_POINTS` numbers for each row. */
  #points = new Uint32Array(FIRST_ROWS * SPARK_POINTS);
  /** Count of each row at the last step. */
  #counted = new Float64Array(FIRST_ROWS);
  #next = 0;

  /** Existing counts, e.g. restored ones, belong to no step. */
  constructor(names: Iterable<Counted>) {
    for (const [row, count] of names) {
      this.#reserve(row);
      this.#counted[row] = count;
    }
  }

  /** Ends a step for all names; takes some µs for each hundred of them. */
  take(names: Iterable<Counted>): void {
    const at = this.#next;
    for (const [row, count] of names) {
      this.#reserve(row);
      this.#points[row * SPARK_POINTS + at] = Math.max(0, count - (this.#counted[row] as number));
      this.#counted[row] = count;
    }
    this.#next = (at + 1) % SPARK_POINTS;
  }

  /** Oldest first; zeros for a name that was added since the last step. */
  lineOf(row: number): number[] {
    const line: number[] = [];
    for (let i = 0; i < SPARK_POINTS; i += 1) {
      const at = (this.#next + i) % SPARK_POINTS;
      line.push(row < 0 ? 0 : (this.#points[row * SPARK_POINTS + at] ?? 0));
    }
    return line;
  }

  /** The counts of a name have moved to another; its row is free. */
  fold(row: number, into: number): void {
    this.#reserve(Math.max(row, into));
    moveRow(this.#points, SPARK_POINTS, row, into);
    moveRow(this.#counted, 1, row, into);
  }

  #reserve(row: number): void {
    while (row >= this.#counted.length) {
      this.#points = doubled(this.#points, new Uint32Array(this.#points.length * 2));
      this.#counted = doubled(this.#counted, new Float64Array(this.#counted.length * 2));
    }
  }
}

type Numbers = Float64Array | Uint16Array | Uint32Array;

/** Adds the `width` numbers of a row to another, and sets them to 0. */
export function moveRow(numbers: Numbers, width: number, row: number, into: number): void {
  for (let i = 0; i < width; i += 1) {
    numbers[into * width + i] = (numbers[into * width + i] as number) + (numbers[row * width + i] as number);
    numbers[row * width + i] = 0;
  }
}

/** `into`, which is empty and twice as long, with the numbers of `from`. */
export function doubled<Kind extends Numbers>(from: Kind, into: Kind): Kind {
  into.set(from);
  return into;
}

/** Whether that step of the history completes a number of the lines. */
export function isSparkStep(seq: number): boolean {
  return seq % STEPS_PER_SPARK_POINT === 0;
}
