/**
 * Where requests outside of all applications went, by the first segment of their path: what a wrong `upstream.url` looks like. Counts
 * only exchanges that are no calls. Anybody can send such a path, and it may hold a secret, so that
 * - at most 32 segments are kept: a new one takes the place of the rarest, whose requests then count as `(other)`;
 * - only segments that look like the name of an application are kept, all else counts as `(other)`.
 */

import { toShownText } from '../../base/shown-text.ts';
import { detached } from '../../protocol/http1/text.ts';
import { decodeSegment, isIrregularPath, toConfigSegments, toRawPath, toSegments } from '../classify/path.ts';

/** E.g. `{ count: 5, segments: [['plant', 3]], other: 2 }`. */
export interface OutsideReading {
  readonly count: number;
  /** The most frequent ones, most frequent first, with how many requests are known to have had each. */
  readonly segments: readonly (readonly [segment: string, count: number])[];
  /** Requests that are under none of `segments`. */
  readonly other: number;
}

const MAX_SEGMENTS = 32;
const SHOWN_SEGMENTS = 5;
const MAX_NAME_CHARS = 32;
/** What is behind them is not looked at: nobody makes a long path cost more. */
const MAX_PATH_CHARS = 2_048;
/** Escaped, a character has up to 12. */
const MAX_RAW_CHARS = 12 * MAX_NAME_CHARS;
const MAX_DIGITS = 4;
const MAX_SWITCHES = 3;

export class OutsidePaths {
  readonly #contexts: readonly (readonly string[])[];
  /** Segments of the longest one. */
  readonly #deepest: number;
  /** In the order of their coming, so that the first of equally rare ones is the oldest. */
  readonly #segments = new Map<string, number>();
  #count = 0;

  /** `applications`: as in the configuration; with the root context nothing is outside. */
  constructor(applications: readonly string[]) {
    this.#contexts = applications.map(toConfigSegments);
    this.#deepest = Math.max(1, ...this.#contexts.map(({ length }) => length));
  }

  get count(): number {
    return this.#count;
  }

  /** To be called for an exchange that is no call. `target` as sent: nothing of it is kept but a copy of a name. */
  add(target: string): void {
    const path = (toRawPath(target) ?? '').slice(0, MAX_PATH_CHARS);
    const segments = isIrregularPath(path) ? toSegments(path) : toFirstSegments(path, this.#deepest + 1);
    if (segments !== undefined && this.#contexts.some((context) => startsWith(segments, context))) return;
    this.#count += 1;
    const name = toName(segments?.[0]);
    if (name === undefined) return;
    const known = this.#segments.get(name);
    if (known === undefined && this.#segments.size === MAX_SEGMENTS) this.#segments.delete(this.#rarest());
    this.#segments.set(known === undefined ? detached(name) : name, (known ?? 0) + 1);
  }

  read(): OutsideReading {
    const segments = [...this.#segments].sort(([, a], [, b]) => b - a).slice(0, SHOWN_SEGMENTS);
    const named = segments.reduce((sum, [, count]) => sum + count, 0);
    return { count: this.#count, segments, other: this.#count - named };
  }

  #rarest(): string {
    let rarest = '';
    let least = Number.POSITIVE_INFINITY;
    for (const [name, count] of this.#segments) {
      if (count >= least) continue;
      rarest = name;
      least = count;
    }
    return rarest;
  }
}

/** Of a regular path: a long one is not taken apart to its end. */
function toFirstSegments(path: string, count: number): string[] {
  return path.split('/', count).slice(1);
}

function startsWith(segments: readonly string[], context: readonly string[]): boolean {
  return context.every((segment, at) => segments[at] === segment);
}

/**
 * The segment with hidden characters as U+FFFD, where it looks like the name of an application: a letter first, then letters, digits,
 * dots, dashes and underscores; at most 32 characters, 4 digits, and 3 places where a digit or a capital follows another kind. Undefined
 * for anything else: ids, tokens and encoded data are longer or mix letters and digits.
 */
function toName(segment: string | undefined): string | undefined {
  if (segment === undefined || segment.length > MAX_RAW_CHARS) return undefined;
  const name = toShownText(decodeSegment(segment));
  if (name.length > MAX_NAME_CHARS || !NAME.test(name)) return undefined;
  const isMixed = countOf(name, DIGITS) > MAX_DIGITS || countOf(name, SWITCHES) > MAX_SWITCHES;
  return isMixed ? undefined : name;
}

const NAME = /^\p{L}[\p{L}\p{M}\p{N}\ufffd._-]*$/u;
const DIGITS = /\p{N}/gu;
const SWITCHES = /(?<=\p{Ll})\p{Lu}|(?<=\p{L})\p{N}|(?<=\p{N})\p{L}/gu;

function countOf(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}
