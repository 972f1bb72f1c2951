/**
 * A reading of a JVM at one moment. Missing is not zero: values that the source lacks are absent, here and in answers.
 */

/** In bytes. `max` is -1 if the JVM has no limit, as in the platform's MXBeans. */
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
  /** Milliseconds spent in collections, as the MXBean counts them. */
  readonly timeMs?: number;
}

export interface JvmReading {
  /** Totals since the JVM's start: `loaded` is TotalLoadedClassCount, not the current number. */
  readonly classes: { readonly loaded?: number; readonly unloaded?: number };
  readonly heap: MemoryUsage;
  readonly nonHeap: MemoryUsage;
  /** By MXBean name, e.g. `G1 Eden Space`, `CodeHeap 'non-nmethods'`. */
  readonly pools: ReadonlyMap<string, PoolUsage>;
  /** By MXBean name, e.g. `G1 Young Generation`. */
  readonly collectors: ReadonlyMap<string, CollectorUsage>;
  /** Whether the heap's `used` is current, or from the last collection. */
  readonly memory: 'live' | 'after-gc';
}
