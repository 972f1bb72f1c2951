import { type ErrorCode, SidecarError } from '../base/errors.ts';
import { sanitizeText } from '../base/shown-text.ts';
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

/** One way to read the JVM's condition. Each has its own file or folder, and all return a `JvmReading`. */
export interface JvmSource {
  /** For the header `Metrics-Source`, e.g. `hsperfdata`, `hsperfdata+attach`, `tomcat-jmxproxy`, `jolokia`. */
  readonly name: string;
  /**
   * One reading. Rejects with a `JvmSourceError`; its message says what is wrong and what to do, without a credential,
   * the user part of an address, or a body. Ends when `signal` aborts. Never called again before it settles.
   */
  read(signal: AbortSignal): Promise<JvmReading>;
  /** A thread dump as HotSpot prints it. Rejects with a `JvmSourceError`. Absent where there is no attach socket. */
  dumpThreads?(signal: AbortSignal): Promise<string>;
  /**
   * How often a bound of the search was reached, by the bound's name, e.g. `processes` => 0. Absent in a source where
   * reaching a bound fails the reading.
   */
  readonly boundsHit?: ReadonlyMap<string, number>;
  close(): void;
}

export type JvmErrorCode = Extract<ErrorCode, `D2S_ERR_JVM_${string}`>;

/** Why there is no reading. Operators see `message` in the log and in the 503 of `metrics/jvm`. */
export class JvmSourceError extends SidecarError {
  declare readonly code: JvmErrorCode;

  constructor(code: JvmErrorCode, message: string, cause?: unknown) {
    // Messages quote names of folders in /tmp, and any user of the machine may choose such a name.
    super(code, sanitizeText(message), cause === undefined ? undefined : { cause });
  }
}
