/** A rule that several keys break together. */
export interface Conflict {
  readonly keys: readonly string[];
  readonly line: string;
}
