/** How much a survey keeps. What comes beyond a bound is passed over, and counted here, so that a report can say so. */

/** All counts are of things passed over. */
export interface BoundsHit {
  /** Messages on channels that there was no place for. */
  channels: number;
  /** Fields that there was no place for. */
  fields: number;
  /** Parts of a message that were nested too deep, or came too late in it. */
  parts: number;
  /** Questions that were forgotten before anything answered them. */
  questions: number;
}

export class Bounds {
  readonly hit: BoundsHit = { channels: 0, fields: 0, parts: 0, questions: 0 };
  #fields = 0;

  /** A place for one more field, of all shapes together; false when there is none. */
  takeField(): boolean {
    if (this.#fields < MAX_FIELDS) {
      this.#fields += 1;
      return true;
    }
    this.hit.fields += 1;
    return false;
  }
}

/** A field takes at most about 4 KB, with the hashes of values told apart. */
export const MAX_FIELDS = 10_000;
/** Of one object; with more, its keys are taken for data. */
export const MAX_KEYS = 40;
/** Nesting of data that is looked at. */
export const MAX_DEPTH = 8;
/** Entries of one list that are looked at. */
export const MAX_ITEMS = 20;
/** Fields and entries of one message that are looked at. */
export const MAX_PARTS = 500;
/** Channels and families of channels. */
export const MAX_CHANNELS = 500;
/** Calls, and subscriptions by a message, whose answers are waited for. */
export const MAX_QUESTIONS = 20_000;
