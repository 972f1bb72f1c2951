import type { JvmReading } from './jvm-reading.ts';
import { type JvmSource, JvmSourceError } from './jvm-source.ts';

/**
 * Takes memory from one source, classes and collectors from another. Tomcat's status page needs the fewest rights and
 * has only memory and connectors; the counters file has exactly the rest. If the second source fails, the reading has
 * only the values of the first.
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
    // Wait for both even if one has failed: a source must not be called again while it is still reading.
    const [memory, rest] = await Promise.allSettled([this.#memory.read(signal), this.#rest.read(signal)]);
    if (memory.status === 'rejected') throw memory.reason;
    this.#isPaired = rest.status === 'fulfilled';
    if (rest.status === 'rejected') return memory.value;
    const { classes, collectors, server } = rest.value;
    return { ...memory.value, classes, collectors, server: { ...server, connectors: memory.value.server?.connectors } };
  }

  async dumpThreads(signal: AbortSignal): Promise<string> {
    const dump = await this.#rest.dumpThreads?.(signal);
    if (dump === undefined) throw new JvmSourceError('D2S_ERR_JVM_UNREACHABLE', `${this.name} has no thread dumps.`);
    return dump;
  }

  close(): void {
    this.#memory.close();
    this.#rest.close();
  }
}
