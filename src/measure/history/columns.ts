/** Number of kept steps: the last hour. */
export const MAX_STEPS = 720;
export const STEP_SECONDS = 5;

/** Numbers of the last steps, one array of fixed length for each name; NaN means no value. */
export type Columns<Name extends string> = Readonly<Record<Name, Float64Array>>;

/** Takes 5.8 KB for each name. */
export function createColumns<Name extends string>(names: readonly Name[]): Columns<Name> {
  return Object.fromEntries(names.map((name) => [name, new Float64Array(MAX_STEPS)])) as Columns<Name>;
}

/** Index of a step in every column. The step `MAX_STEPS` later overwrites it. */
export function placeOf(seq: number): number {
  return seq % MAX_STEPS;
}

/** Places of the last `count` steps up to `seq`, oldest first; fewer after the start. */
export function placesOf(seq: number, count: number): number[] {
  const steps = Math.min(count, seq, MAX_STEPS);
  return Array.from({ length: steps }, (_, at) => placeOf(seq - steps + 1 + at));
}

export function valueAt(column: Float64Array, place: number): number | null {
  const value = column[place] as number;
  return Number.isNaN(value) ? null : value;
}
