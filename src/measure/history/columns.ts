/** Steps that are kept: the last hour. */
export const MAX_STEPS = 720;
export const STEP_SECONDS = 5;

/** Numbers of the last steps by what they count, each in an array of fixed length; NaN stands for none. */
export type Columns<Name extends string> = Readonly<Record<Name, Float64Array>>;

/** 5.8 KB for each name, however much is counted. */
export function createColumns<Name extends string>(names: readonly Name[]): Columns<Name> {
  return Object.fromEntries(names.map((name) => [name, new Float64Array(MAX_STEPS)])) as Columns<Name>;
}

/** Where the step of that number is in every column, until the one `MAX_STEPS` later takes its place. */
export function placeOf(seq: number): number {
  return seq % MAX_STEPS;
}

/** What a column holds at that place; null where it holds none. */
export function valueAt(column: Float64Array, place: number): number | null {
  const value = column[place] as number;
  return Number.isNaN(value) ? null : value;
}
