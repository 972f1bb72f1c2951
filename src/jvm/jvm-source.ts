import { type ErrorCode, SidecarError } from '../base/errors.ts';
import { toShownText } from '../base/shown-text.ts';
import type { JvmReading } from './jvm-reading.ts';

/** One way to learn of the JVM's condition. One file (or folder) for each; all fill the same reading. */
export interface JvmSource {
  /** For the header `Metrics-Source`, e.g. `hsperfdata`, `hsperfdata+attach`, `tomcat-jmxproxy`, `jolokia`. */
  readonly name: string;
  /**
   * One reading. Rejects with a `JvmSourceError` whose message says what is wrong and what to do about it, and never holds a
   * credential, an address's user part or a body. Ends when `signal` aborts. Never called again before it has settled.
   */
  read(signal: AbortSignal): Promise<JvmReading>;
  /**
   * How often there was more to look at than it looks at, by the name of the bound, e.g. `processes` => 0. Absent in a source
   * whose bounds end the reading, which counts as a failure then.
   */
  readonly boundsHit?: ReadonlyMap<string, number>;
  /** Gives up connections and descriptors. */
  close(): void;
}

export type JvmErrorCode = Extract<ErrorCode, `D2S_ERR_JVM_${string}`>;

/** Why there is no reading. `message` is shown to operators, in the log and in the 503 of `metrics/jvm`. */
export class JvmSourceError extends SidecarError {
  declare readonly code: JvmErrorCode;

  constructor(code: JvmErrorCode, message: string, cause?: unknown) {
    // Any user of the machine may name a folder in /tmp, and messages quote that name.
    super(code, toShownText(message), cause === undefined ? undefined : { cause });
  }
}
