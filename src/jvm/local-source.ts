import type { Logger } from '../base/logger.ts';
import { sanitizeText } from '../base/shown-text.ts';
import type { AttachOverlay } from './attach/attach-overlay.ts';
import type { HsperfdataSource } from './hsperfdata/hsperfdata-source.ts';
import type { JvmReading } from './jvm-reading.ts';
import { type JvmSource, JvmSourceError } from './jvm-source.ts';

/** The default source: the counters file, overlaid with values from the attach socket if there is one. */
export class LocalSource implements JvmSource {
  readonly #counters: HsperfdataSource;
  readonly #attach: AttachOverlay;
  readonly #logger: Logger;
  #loggedJvm: string | undefined;
  #loggedReason: string | undefined;

  constructor(counters: HsperfdataSource, attach: AttachOverlay, logger: Logger) {
    this.#counters = counters;
    this.#attach = attach;
    this.#logger = logger;
  }

  get name(): string {
    return this.#attach.isApplied ? 'hsperfdata+attach' : 'hsperfdata';
  }

  get boundsHit(): ReadonlyMap<string, number> {
    return this.#counters.boundsHit;
  }

  async read(signal: AbortSignal): Promise<JvmReading> {
    const reading = await this.#counters.read(signal);
    const jvm = this.#counters.found;
    if (jvm === undefined) return reading;
    if (jvm.description !== this.#loggedJvm) this.#logger.info({ jvm: jvm.description }, 'reading this JVM');
    this.#loggedJvm = jvm.description;
    const overlaid = await this.#attach.apply(reading, jvm, signal);
    this.#logReason(this.#attach.reason);
    return overlaid;
  }

  /** Its first line says which JVM was asked, as do the errors. */
  async dumpThreads(signal: AbortSignal): Promise<string> {
    if (this.#counters.found === undefined) await this.#counters.read(signal);
    const jvm = this.#counters.found;
    if (jvm === undefined) throw new JvmSourceError('D2S_ERR_JVM_NOT_FOUND', 'The JVM has not been found.');
    const asked = sanitizeText(`Asked the JVM with ${jvm.description}`);
    try {
      return `${asked}.\n${await this.#attach.threads(jvm, signal)}`;
    } catch (cause) {
      if (!(cause instanceof JvmSourceError)) throw cause;
      throw new JvmSourceError(cause.code, `${cause.message} ${asked}.`, cause);
    }
  }

  /** Logs each change once: readings come every few seconds. Reasons contain paths and ids, but no text from a JVM. */
  #logReason(reason: string | undefined): void {
    if (reason === this.#loggedReason) return;
    this.#loggedReason = reason;
    if (reason !== undefined)
      this.#logger.info({ reason }, 'the JVM’s attach socket is not used: its memory is read from its counters only');
  }

  close(): void {
    this.#counters.close();
    void this.#attach.close();
  }
}
