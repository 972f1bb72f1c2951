import { type ErrorCode, SidecarError } from '../base/errors.ts';
import { sanitizeText } from '../base/shown-text.ts';
import type { JvmReading } from './jvm-reading.ts';

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
