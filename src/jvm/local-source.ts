import type { AttachOverlay } from './attach/attach-overlay.ts';
import type { HsperfdataSource } from './hsperfdata/hsperfdata-source.ts';
import type { JvmReading } from './jvm-reading.ts';
import type { JvmSource } from './jvm-source.ts';

/** The default: the counters file, and over it what the JVM tells on its attach socket, where there is one. */
export class LocalSource implements JvmSource {
  readonly #counters: HsperfdataSource;
  readonly #attach: AttachOverlay;

  constructor(counters: HsperfdataSource, attach: AttachOverlay) {
    this.#counters = counters;
    this.#attach = attach;
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
    return jvm === undefined ? reading : await this.#attach.apply(reading, jvm, signal);
  }

  close(): void {
    this.#counters.close();
    void this.#attach.close();
  }
}
