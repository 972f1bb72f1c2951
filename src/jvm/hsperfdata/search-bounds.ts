/** How much is looked at to find and read a JVM. What lies beyond is passed over, and counted. */
export const SEARCH_LIMITS = {
  /** Processes in /proc. */
  processes: 32_768,
  /** Names in one /tmp, or in one directory `hsperfdata_*`. */
  entries: 131_072,
  /** Directories `hsperfdata_*` in one /tmp, besides those of the users that the JVM can belong to. */
  directories: 256,
  /** Counters files in one /tmp. */
  files: 1024,
  /** Counters files in all of the /tmp that are looked into. */
  filesInAll: 4096,
  /** Of one counters file: HotSpot's default is 32 KiB, of which 14 are in use; -XX:PerfDataMemorySize may make it larger. */
  fileBytes: 1_048_576,
  /** Of one process's map of its memory, which has about 100 bytes for each piece. Without its end, nothing is known of it. */
  mapsBytes: 16 * 1_048_576,
  /** Of the kernel's list of locks, for 20,000 of them. */
  locksBytes: 1_048_576,
  /** Of the kernel's table of sockets, IPv4 and IPv6 each: it begins with those that listen, and this much holds 6,000. */
  socketTableBytes: 1_048_576,
} as const;

export type SearchBound = keyof typeof SEARCH_LIMITS;

/** Bounds beyond which a JVM can lie that is there: what they count, for messages. */
const HIDING: Readonly<Partial<Record<SearchBound, string>>> = {
  processes: 'processes',
  entries: 'names in one /tmp',
  directories: 'directories hsperfdata_* in one /tmp',
  files: 'counters files in one /tmp',
  filesInAll: 'counters files in all /tmp',
  fileBytes: 'bytes of a counters file',
  socketTableBytes: 'bytes of the kernel’s table of sockets',
};

/** How often there was more than is looked at. One for each source. */
export class SearchBounds {
  readonly #hits = new Map(Object.keys(SEARCH_LIMITS).map((name) => [name as SearchBound, 0]));

  /** Every name, also those that were never hit: 0. */
  get hits(): ReadonlyMap<SearchBound, number> {
    return this.#hits;
  }

  /** For the message of a search that began at `before` and found nothing, e.g. `256 directories hsperfdata_* in one /tmp (bound "directories")`. */
  describeHitsSince(before: ReadonlyMap<SearchBound, number>): string | undefined {
    const hit = [...this.#hits].filter(([bound, times]) => times > (before.get(bound) ?? 0) && bound in HIDING);
    if (hit.length === 0) return undefined;
    return hit.map(([bound]) => `${SEARCH_LIMITS[bound]} ${HIDING[bound]} (bound "${bound}")`).join(', ');
  }

  hit(bound: SearchBound): void {
    this.#hits.set(bound, (this.#hits.get(bound) ?? 0) + 1);
  }

  /** Up to as many as may be looked at, of which `taken` have been. */
  cut<T>(all: readonly T[], bound: SearchBound, taken = 0): readonly T[] {
    const room = Math.max(0, SEARCH_LIMITS[bound] - taken);
    if (all.length <= room) return all;
    this.hit(bound);
    return all.slice(0, room);
  }
}
