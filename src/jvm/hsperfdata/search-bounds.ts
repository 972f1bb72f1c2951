/** Limits of the search for a JVM and of reading it. Anything beyond them is skipped and counted. */
export const SEARCH_LIMITS = {
  processes: 32_768,
  /** Names in one /tmp, or in one directory `hsperfdata_*`. */
  entries: 131_072,
  /** Directories `hsperfdata_*` in one /tmp, besides those of users that the JVM may belong to. */
  directories: 256,
  files: 1024,
  /** Counters files in all visited /tmp together. */
  filesInAll: 4096,
  /** Bytes of a counters file. HotSpot's default is 32 KiB, 14 in use; -XX:PerfDataMemorySize may make it larger. */
  fileBytes: 1_048_576,
  /** Bytes of a process's memory map, about 100 for each mapping. A file not found in a cut map may still be mapped. */
  mapsBytes: 16 * 1_048_576,
  /** Bytes of the kernel's list of locks, enough for 20,000. */
  locksBytes: 1_048_576,
  /** Bytes of the kernel's socket table, IPv4 and IPv6 each. Listening sockets come first; 6,000 of them fit. */
  socketTableBytes: 1_048_576,
} as const;

export type SearchBound = keyof typeof SEARCH_LIMITS;

/** Bounds that may hide an existing JVM, and what each counts, for messages. */
const BOUNDS_THAT_HIDE_JVMS: Readonly<Partial<Record<SearchBound, string>>> = {
  processes: 'processes',
  entries: 'names in one /tmp',
  directories: 'directories hsperfdata_* in one /tmp',
  files: 'counters files in one /tmp',
  filesInAll: 'counters files across all /tmp',
  fileBytes: 'bytes of a counters file',
  socketTableBytes: 'bytes of the kernel’s table of sockets',
};

/** Where a search looks, and how far. */
export interface SearchContext {
  /** `/proc`. */
  readonly procPath: string;
  readonly bounds: SearchBounds;
  readonly signal: AbortSignal;
  readonly nowNs: () => number;
}

/** Counts how often each bound was reached. One object for each source. */
export class SearchBounds {
  /** Every bound, also those never reached: 0. */
  readonly hits = new Map(Object.keys(SEARCH_LIMITS).map((name) => [name as SearchBound, 0]));

  /** For a search that began at `before`, e.g. `256 directories hsperfdata_* in one /tmp (bound "directories")`. */
  describeHitsSince(before: ReadonlyMap<SearchBound, number>): string | undefined {
    const hit = [...this.hits].flatMap(([bound, times]) => {
      const what = BOUNDS_THAT_HIDE_JVMS[bound];
      const isHit = what !== undefined && times > (before.get(bound) ?? 0);
      return isHit ? [`${SEARCH_LIMITS[bound]} ${what} (bound "${bound}")`] : [];
    });
    return hit.length === 0 ? undefined : hit.join(', ');
  }

  hit(bound: SearchBound): void {
    this.hits.set(bound, (this.hits.get(bound) ?? 0) + 1);
  }

  /** The part of `all` that fits into the bound after `taken` others. Counts a hit if something is cut. */
  cut<T>(all: readonly T[], bound: SearchBound, taken = 0): readonly T[] {
    const room = Math.max(0, SEARCH_LIMITS[bound] - taken);
    if (all.length <= room) return all;
    this.hit(bound);
    return all.slice(0, room);
  }
}
