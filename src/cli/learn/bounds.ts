/** Bounds on what a survey keeps. It skips everything beyond a bound, and counts that for the report. */
export class Bounds {
  readonly skipped = new Map<Bound, number>();
  readonly #taken = new Map<Bound, number>();

  /** Reserves room for one more. At the bound, counts it as skipped and returns false. */
  take(bound: Bound, max: number): boolean {
    const taken = this.#taken.get(bound) ?? 0;
    if (taken < max) this.#taken.set(bound, taken + 1);
    else this.skip(bound);
    return taken < max;
  }

  skip(bound: Bound): void {
    this.skipped.set(bound, (this.skipped.get(bound) ?? 0) + 1);
  }
}

export type Bound = keyof typeof SKIPPED_WORDS;
export const SKIPPED_WORDS = {
  channels: 'messages on channels for which there was no room',
  fields: 'fields for which there was no room',
  parts: 'messages with parts that were nested too deep or came too late',
  pending: 'messages of clients that were dropped before an answer came',
} as const;

/** Channels, and the segments that lead to them. */
export const MAX_CHANNELS = 1_000;
/** Segments of one channel. */
export const MAX_SEGMENTS = 12;
/** Fields in the data of all channels. */
export const MAX_FIELDS = 10_000;
/** Keys of one object. With more, all its keys count as data. */
export const MAX_KEYS = 40;
/** Nesting levels of data. */
export const MAX_DEPTH = 8;
/** Entries of one list. */
export const MAX_ITEMS = 20;
/** Fields and entries of one message. */
export const MAX_PARTS = 500;
/** Published messages that may still be answered. */
export const MAX_PENDING = 20_000;
/** Texts of handshakes and ids of clients, which are never shown. */
export const MAX_KNOWN_DATA = 100_000;
