/**
 * Counts requests that are no calls by their path: below an application up to eight segments, elsewhere two; and those
 * outside of all applications by their first segment. Any client can send a path, and it may hold a secret. So
 * - a segment that does not look like a name is not shown: it becomes `{}`, or counts as `(other)` if it is the first;
 * - at most 200 paths are kept: a new one replaces the least recently used, whose requests then count as `(other)`. A
 *   path has at most 304 characters, so the bytes are bounded too;
 * - at most 32 first segments are kept: a new one replaces the rarest, whose requests then count as `(other)`.
 */

import type { Clock } from '../../base/clock.ts';
import { sanitizeText } from '../../base/shown-text.ts';
import { Timer } from '../../metrics/timer.ts';
import { detached } from '../../protocol/http1/text.ts';
import { type Context, createContexts, extractRawPath, parseSegments, startsWith } from '../classify/path.ts';

export const MAX_PATHS = 200;
const OTHER = '(other)';
const SEGMENTS_BELOW = 8;
const SEGMENTS_OUTSIDE = 2;
const MAX_FIRST_SEGMENTS = 32;
const SHOWN_FIRST_SEGMENTS = 5;
/** The rest of a path is ignored, so that long paths cost no more. */
const MAX_PATH_CHARS = 1_024;

export class UnclassifiedRequests {
  readonly #clock: Clock;
  readonly #contexts: readonly Context[];
  readonly #below = new Map<string, number>();
  /** Least recently used first. */
  readonly #timers = new Map<string, Timer>();
  #other: Timer | undefined;
  /** In insertion order, so that the first of equally rare segments is the oldest. */
  readonly #firstSegments = new Map<string, number>();
  outside = 0;
  /** Requests that would be calls under another first segment; `path` e.g. `/smartWeb/...`, if that looks like a name. */
  misplaced: { readonly count: number; readonly path: string | undefined } = { count: 0, path: undefined };

  /** `applications`: as in the configuration. With the root context nothing is outside. */
  constructor(applications: readonly string[], clock: Clock) {
    this.#clock = clock;
    this.#contexts = createContexts(applications);
  }

  belowOf(application: string): number {
    return this.#below.get(application) ?? 0;
  }

  /** Of an answered exchange that is no call. Keeps no part of `target`. `isMisplaced`: asked for a request outside. */
  add(
    target: string,
    isMisplaced: (segments: readonly string[]) => boolean,
    durationNs: number,
    endedNs: number,
  ): void {
    const segments = parseSegments(extractRawPath(target.slice(0, MAX_PATH_CHARS)) ?? '');
    const context = segments && this.#contexts.find((one) => startsWith(segments, one.segments));
    if (context === undefined) this.#addOutside(segments?.[0], isMisplaced(segments ?? []));
    else this.#below.set(context.application, this.belowOf(context.application) + 1);
    const shown = segments?.slice(0, context === undefined ? SEGMENTS_OUTSIDE : SEGMENTS_BELOW) ?? [];
    this.#addPath(`/${shown.map(formatSegment).join('/')}`, durationNs, endedNs);
  }

  /**
   * Answered requests since the start by path, e.g. `/smartWeb/api/rest/v1/d2/rpc`, `/smartWeb/{}`, or `(other)`, most
   * frequent first; `p95` in seconds, within 10 %.
   */
  readPaths() {
    const all = this.#other === undefined ? [...this.#timers] : [...this.#timers, [OTHER, this.#other] as const];
    const found = all.sort(([, a], [, b]) => b.count - a.count);
    return found.map(([path, timer]) => ({ path, count: timer.count, p95: timer.snapshot().p95 / 1e9 }));
  }

  /**
   * Requests outside of all applications, e.g. `{ segments: [['plant', 3]], other: 2 }`: the most frequent segments, most
   * frequent first, each with its known number of requests.
   */
  readOutside() {
    const segments = [...this.#firstSegments].sort(([, a], [, b]) => b - a).slice(0, SHOWN_FIRST_SEGMENTS);
    return { segments, other: segments.reduce((left, [, count]) => left - count, this.outside) };
  }

  #addPath(path: string, durationNs: number, endedNs: number): void {
    const known = this.#timers.get(path);
    const timer = known ?? new Timer({ clock: this.#clock, createdNs: endedNs });
    if (known !== undefined) this.#timers.delete(path);
    else if (this.#timers.size >= MAX_PATHS) this.#foldOldest();
    this.#timers.set(known === undefined ? detached(path) : path, timer);
    timer.update(durationNs, endedNs);
  }

  #foldOldest(): void {
    const [oldest] = this.#timers;
    if (oldest === undefined) return;
    const [path, timer] = oldest;
    this.#timers.delete(path);
    this.#other ??= new Timer({ clock: this.#clock, createdNs: timer.createdNs });
    this.#other.absorb(timer);
  }

  #addOutside(first: string | undefined, isMisplaced: boolean): void {
    this.outside += 1;
    const name = selectHarmlessName(first ?? '');
    if (isMisplaced) this.misplaced = { count: this.misplaced.count + 1, path: name && `/${name}/...` };
    if (name === undefined) return;
    const known = this.#firstSegments.get(name);
    if (known === undefined && this.#firstSegments.size === MAX_FIRST_SEGMENTS) {
      const [rarest] = [...this.#firstSegments].reduce((least, one) => (one[1] < least[1] ? one : least));
      this.#firstSegments.delete(rarest);
    }
    this.#firstSegments.set(known === undefined ? detached(name) : name, (known ?? 0) + 1);
  }
}

const KEYED = /^([^()]+)\(.*\)$/s;

/** `Pumps(7)` to `Pumps({})`, `7f3e...` to `{}`. */
function formatSegment(segment: string): string {
  const keyed = KEYED.exec(segment)?.[1];
  if (keyed !== undefined) return `${formatSegment(keyed)}({})`;
  const sign = /^[$_.]/.exec(segment)?.[0] ?? '';
  const name = selectHarmlessName(segment.slice(sign.length));
  return name === undefined ? '{}' : sign + name;
}

const MAX_NAME_CHARS = 32;
const MAX_DIGITS = 4;
const MAX_SWITCHES = 3;
const NAME = /^\p{L}[\p{L}\p{M}\p{N}\ufffd._-]*$/u;
const DIGITS = /\p{N}/gu;
const SWITCHES = /(?<=\p{Ll})\p{Lu}|(?<=\p{L})\p{N}|(?<=\p{N})\p{L}/gu;

/**
 * The segment, with hidden characters as U+FFFD, if it looks like a name and not like a secret: ids, tokens and encoded
 * data are longer, or mix letters and digits.
 */
function selectHarmlessName(segment: string): string | undefined {
  if (segment.length > MAX_NAME_CHARS) return undefined;
  const name = sanitizeText(segment);
  const isMixed = countOf(name, DIGITS) > MAX_DIGITS || countOf(name, SWITCHES) > MAX_SWITCHES;
  return isMixed || !NAME.test(name) ? undefined : name;
}

function countOf(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}
