/**
 * Counts requests that are not calls by their path: below an application up to eight segments, elsewhere two. This shows
 * the load of OData, pages and files, and calls that no rule reads. Any client can send a path, and it may hold a secret or differ in each request. So a segment that does not
 * look like a name becomes `{}`. At most 200 paths are kept: a new one replaces the least recently used, whose requests
 * then count as `(other)`. A path has at most 304 characters, so the bytes are bounded too.
 */
import type { Clock } from '../../base/clock.ts';
import { Timer } from '../../metrics/timer.ts';
import { detached } from '../../protocol/http1/text.ts';
import { extractRawPath } from '../classify/path.ts';
import { selectHarmlessName } from './harmless-name.ts';

export interface UnclassifiedPath {
  /** E.g. `/smartWeb/api/rest/v1/d2/rpc`, `/smartWeb/{}`, or `(other)`. */
  readonly path: string;
  /** Answered requests since the start. */
  readonly count: number;
  /** Seconds, within 10 %. */
  readonly p95: number;
}

export const MAX_PATHS = 200;
const OTHER = '(other)';
const SEGMENTS = 2;
const SEGMENTS_BELOW = 8;
/** The rest of a path is ignored, so that long paths cost no more. */
const MAX_PATH_CHARS = 1_024;
const KEYED = /^([^()]+)\(.*\)$/s;

export class UnclassifiedPaths {
  readonly #clock: Clock;
  /** Least recently used first. */
  readonly #timers = new Map<string, Timer>();
  #other: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Call it for an answered exchange that is not a call. `isBelow`: of an application. Only a copy of the path is kept. */
  add(target: string, isBelow: boolean, durationNs: number, endedNs: number): void {
    const path = formatPathTemplate(target, isBelow ? SEGMENTS_BELOW : SEGMENTS);
    const known = this.#timers.get(path);
    const timer = known ?? new Timer({ clock: this.#clock, createdNs: endedNs });
    if (known !== undefined) this.#timers.delete(path);
    else if (this.#timers.size >= MAX_PATHS) this.#foldOldest();
    this.#timers.set(known === undefined ? detached(path) : path, timer);
    timer.update(durationNs, endedNs);
  }

  /** The `limit` most frequent, most frequent first. */
  read(limit: number): readonly UnclassifiedPath[] {
    const all = this.#other === undefined ? [...this.#timers] : [...this.#timers, [OTHER, this.#other] as const];
    const found = all.sort(([, a], [, b]) => b.count - a.count).slice(0, limit);
    return found.map(([path, timer]) => ({ path, count: timer.count, p95: timer.snapshot().p95 / 1e9 }));
  }

  #foldOldest(): void {
    const [oldest] = this.#timers;
    if (oldest === undefined) return;
    const [path, timer] = oldest;
    this.#timers.delete(path);
    this.#other ??= new Timer({ clock: this.#clock, createdNs: timer.createdNs });
    this.#other.absorb(timer);
  }
}

/** With two segments: `/a/b/c` to `/a/b`, `/a/Pumps(7)` to `/a/Pumps({})`, `/a/7f3e...` to `/a/{}`. */
function formatPathTemplate(target: string, most: number): string {
  const path = extractRawPath(target.slice(0, MAX_PATH_CHARS)) ?? '';
  const segments = path
    .split('/', most + 1)
    .filter((segment) => segment !== '')
    .slice(0, most);
  return `/${segments.map(formatPart).join('/')}`;
}

function formatPart(segment: string): string {
  const keyed = KEYED.exec(segment)?.[1];
  if (keyed !== undefined) return `${formatPart(keyed)}({})`;
  const sign = /^[$_.]/.exec(segment)?.[0] ?? '';
  const name = selectHarmlessName(segment.slice(sign.length));
  return name === undefined ? '{}' : sign + name;
}
