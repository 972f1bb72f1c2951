export const MARK_KINDS = [
  ...(['start', 'restored', 'drain', 'reload'] as const),
  ...(['upstreamLost', 'upstreamBack', 'jvmLost', 'jvmBack', 'jvmRestart', 'verdict'] as const),
] as const;

export type MarkKind = (typeof MARK_KINDS)[number];

/** An event, e.g. `{ epochMs: 1793966400000, kind: 'reload', text: 'The configuration was reloaded.' }`. */
export interface Mark {
  readonly epochMs: number;
  readonly kind: MarkKind;
  readonly text: string;
  /** When what it describes was over; absent while it lasts, and for a moment. */
  endEpochMs?: number;
}

/** More than occur in an hour, unless something flaps. */
const MAX_MARKS = 200;

export class Marks {
  readonly #marks: Mark[] = [];
  #dropped = 0;

  get all(): readonly Mark[] {
    return this.#marks;
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** Returns the mark, whose end may be set later. */
  add(mark: Mark): Mark {
    this.#marks.push(mark);
    if (this.#marks.length > MAX_MARKS) {
      this.#marks.shift();
      this.#dropped += 1;
    }
    return mark;
  }
}
