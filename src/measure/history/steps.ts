export const STEP_SECONDS = 5;
/** Kept steps: the last hour. */
export const MAX_STEPS = 720;
export const STEPS_PER_MINUTE = 12;
/** Numbers in one spark line. */
export const SPARK_POINTS = 12;
/** Steps for each number of a spark line. */
export const STEPS_PER_SPARK_POINT = 5;

/** The increase of a rising count since the last call, or since now for the first. */
export function createIncrease(read: () => number): () => number {
  let last = read();
  return () => {
    const before = last;
    last = read();
    return last - before;
  };
}

export function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}
