/** A reading of a JVM at one moment. Missing is not zero: values that the source lacks are undefined. */
import type { ServerReading } from './server-reading.ts';

/** In bytes. `max` is -1 if the JVM has no limit, as in the platform's MXBeans. */
export interface MemoryUsage {
  readonly init?: number | undefined;
  readonly used?: number | undefined;
  readonly committed?: number | undefined;
  readonly max?: number | undefined;
}

export interface PoolUsage extends MemoryUsage {
  /** Bytes in use after the last collection of this pool; heap pools only. */
  readonly usedAfterGc?: number | undefined;
}

export interface CollectorUsage {
  readonly count?: number | undefined;
  /** Milliseconds spent in collections, as the MXBean counts them. */
  readonly timeMs?: number | undefined;
}

export interface JvmReading {
  /** Totals since the JVM's start: `loaded` is TotalLoadedClassCount, not the current number. */
  readonly classes: { readonly loaded?: number | undefined; readonly unloaded?: number | undefined };
  readonly heap: MemoryUsage;
  readonly nonHeap: MemoryUsage;
  /** By MXBean name, e.g. `G1 Eden Space`, `CodeHeap 'non-nmethods'`. */
  readonly pools: ReadonlyMap<string, PoolUsage>;
  readonly collectors: ReadonlyMap<string, CollectorUsage>;
  readonly server?: ServerReading | undefined;
  /** Whether the heap's `used` is current, or from the last collection. */
  readonly memory: 'live' | 'after-gc';
}
