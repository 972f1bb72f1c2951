export const MARK_KINDS = [
  ...(['start', 'restored', 'drain', 'reload'] as const),
  ...(['upstreamLost', 'upstreamBack', 'jvmLost', 'jvmBack', 'jvmRestart'] as const),
] as const;

export type MarkKind = (typeof MARK_KINDS)[number];

/** Something that happened at one moment, e.g. `{ epochMs: 1793966400000, kind: 'reload', text: 'The configuration was reloaded.' }`. */
export interface Mark {
  readonly epochMs: number;
  readonly kind: MarkKind;
  /** One sentence. */
  readonly text: string;
}

/** More than an hour has, unless something flaps. */
const MAX_MARKS = 200;

/** The last 200 marks; the oldest goes for the next. */
export class Marks {
  readonly #marks: Mark[] = [];
  #dropped = 0;

  /** In the order of their coming. */
  get all(): readonly Mark[] {
    return this.#marks;
  }

  get dropped(): number {
    return this.#dropped;
  }

  add(mark: Mark): void {
    this.#marks.push(mark);
    if (this.#marks.length <= MAX_MARKS) return;
    this.#marks.shift();
    this.#dropped += 1;
  }
}
