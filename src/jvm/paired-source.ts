import type { JvmReading } from './jvm-reading.ts';
import type { JvmSource } from './jvm-source.ts';

/**
 * Memory from one source, classes and collectors from another: Tomcat's status page takes the least right of all and tells
 * only memory, the counters file tells the other two exactly. Without the second, the first still tells what it can.
 */
export class PairedSource implements JvmSource {
  readonly #memory: JvmSource;
  readonly #rest: JvmSource;
  #isPaired = false;

  constructor(memory: JvmSource, rest: JvmSource) {
    this.#memory = memory;
    this.#rest = rest;
  }

  get name(): string {
    return this.#isPaired ? `${this.#memory.name}+${this.#rest.name}` : this.#memory.name;
  }

  get boundsHit(): ReadonlyMap<string, number> {
    return new Map([...(this.#memory.boundsHit ?? []), ...(this.#rest.boundsHit ?? [])]);
  }

  async read(signal: AbortSignal): Promise<JvmReading> {
    const rest = this.#rest.read(signal).catch(() => undefined);
    const memory = await this.#memory.read(signal);
    const found = await rest;
    this.#isPaired = found !== undefined;
    return found === undefined ? memory : { ...memory, classes: found.classes, collectors: found.collectors };
  }

  close(): void {
    this.#memory.close();
    this.#rest.close();
  }
}
