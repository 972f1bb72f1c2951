/**
 * What a source tells of a JVM at one moment. Missing is not zero: what a source cannot tell is absent, here and in the
 * answers.
 */

/** Bytes. `max` is -1 where the JVM has no limit, as the platform's MXBeans say it. */
export interface MemoryUsage {
  readonly init?: number;
  readonly used?: number;
  readonly committed?: number;
  readonly max?: number;
}

export interface PoolUsage extends MemoryUsage {
  /** Bytes in use after the last collection of this pool; heap pools only. */
  readonly usedAfterGc?: number;
}

export interface CollectorUsage {
  /** Collections since the JVM's start. */
  readonly count?: number;
  /** Milliseconds spent in them, as the MXBean counts. */
  readonly timeMs?: number;
}

export interface JvmReading {
  /** Totals since the JVM's start: `loaded` is TotalLoadedClassCount, not the current number. */
  readonly classes: { readonly loaded?: number; readonly unloaded?: number };
  readonly heap: MemoryUsage;
  readonly nonHeap: MemoryUsage;
  /** By the bean's own name, e.g. `G1 Eden Space`, `CodeHeap 'non-nmethods'`. */
  readonly pools: ReadonlyMap<string, PoolUsage>;
  /** By the bean's own name, e.g. `G1 Young Generation`. */
  readonly collectors: ReadonlyMap<string, CollectorUsage>;
  /** Whether `used` of the heap is of now, or as of the last collection. */
  readonly memory: 'live' | 'after-gc';
}
