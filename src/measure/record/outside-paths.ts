/**
 * Counts requests that are no calls: below each application, and outside of all by the first segment of their path.
 * This reveals a wrong `upstream.url`. Any client can send such a path, and it may hold a secret. So
 * - at most 32 segments are kept: a new one replaces the rarest, whose requests then count as `(other)`;
 * - only segments that look like the name of an application are kept; all others count as `(other)`.
 */

import { detached } from '../../protocol/http1/text.ts';
import { extractRawPath, isIrregularPath, parseConfigSegments, parseSegments } from '../classify/path.ts';
import { selectHarmlessName } from './harmless-name.ts';

/** Requests that passed, and an example of their path if it is harmless. */
export interface PassedCount {
  readonly count: number;
  readonly path: string | undefined;
}

/** E.g. `{ count: 5, segments: [['plant', 3]], other: 2 }`. */
export interface OutsideReading {
  readonly count: number;
  /** The most frequent segments, most frequent first, each with its known number of requests. */
  readonly segments: readonly (readonly [segment: string, count: number])[];
  /** Requests under none of `segments`. */
  readonly other: number;
}

const MAX_SEGMENTS = 32;
const SHOWN_SEGMENTS = 5;
/** The rest of a path is ignored, so that long paths cost no more. */
const MAX_PATH_CHARS = 2_048;

export class OutsidePaths {
  /** The longest first: the deepest application counts. */
  readonly #contexts: readonly { readonly name: string; readonly segments: readonly string[] }[];
  readonly #below = new Map<string, number>();
  /** Requests that would be calls if their first segment were an application; `path` e.g. `/smartWeb/...`. */
  misplaced: PassedCount = { count: 0, path: undefined };
  /** Number of segments in the longest context path. */
  readonly #deepest: number;
  /** In insertion order, so that the first of equally rare segments is the oldest. */
  readonly #segments = new Map<string, number>();
  count = 0;

  /** `applications`: as in the configuration. With the root context nothing is outside. */
  constructor(applications: readonly string[]) {
    this.#contexts = applications
      .map((name) => ({ name, segments: parseConfigSegments(name) }))
      .sort((a, b) => b.segments.length - a.segments.length);
    this.#deepest = Math.max(1, ...this.#contexts.map(({ segments }) => segments.length));
  }

  belowOf(application: string): number {
    return this.#below.get(application) ?? 0;
  }

  /**
   * Call it for an exchange that is not a call; returns whether it is below an application. `target`: as sent; only a copy of a segment is kept. `isMisplaced`: asked
   * for a request outside, with its segments.
   */
  add(target: string, isMisplaced: (segments: readonly string[]) => boolean = () => false): boolean {
    const path = extractRawPath(target.slice(0, MAX_PATH_CHARS)) ?? '';
    const segments = isIrregularPath(path) ? parseSegments(path) : firstSegments(path, this.#deepest + 1);
    const context = segments && this.#contexts.find((one) => startsWith(segments, one.segments));
    if (context !== undefined) {
      this.#below.set(context.name, this.belowOf(context.name) + 1);
      return true;
    }
    this.count += 1;
    const name = selectHarmlessName(segments?.[0]);
    if (isMisplaced(parseSegments(path) ?? [])) {
      this.misplaced = { count: this.misplaced.count + 1, path: name === undefined ? undefined : `/${name}/...` };
    }
    if (name === undefined) return false;
    const known = this.#segments.get(name);
    if (known === undefined && this.#segments.size === MAX_SEGMENTS) this.#segments.delete(this.#rarest());
    this.#segments.set(known === undefined ? detached(name) : name, (known ?? 0) + 1);
    return false;
  }

  read(): OutsideReading {
    const segments = [...this.#segments].sort(([, a], [, b]) => b - a).slice(0, SHOWN_SEGMENTS);
    const named = segments.reduce((sum, [, count]) => sum + count, 0);
    return { count: this.count, segments, other: this.count - named };
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

/** For a regular path: stops after `count` segments of a long one. */
function firstSegments(path: string, count: number): string[] {
  return path.split('/', count).slice(1);
}

function startsWith(segments: readonly string[], context: readonly string[]): boolean {
  return context.every((segment, at) => segments[at] === segment);
}
