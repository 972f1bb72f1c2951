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
  /** Oldest first. */
  readonly all: Mark[] = [];
  dropped = 0;

  /** Returns the mark, whose end may be set later. */
  add(mark: Mark): Mark {
    this.all.push(mark);
    if (this.all.length > MAX_MARKS) {
      this.all.shift();
      this.dropped += 1;
    }
    return mark;
  }
}
