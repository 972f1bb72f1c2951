/**
 * Reads the condition of the application server's JVM (memory, classes, collectors) from one configured source: the
 * counters file, the attach socket, or HTTP. This folder knows nothing of the calls that the proxy relays.
 */
import type { Logger } from '../base/logger.ts';
import type { Config } from '../config/config.ts';
import type { HttpSourceParts } from './http/create-http-source.ts';
import { type JvmReading, type JvmSource, JvmSourceError } from './jvm-source.ts';
import { createLocalSource, type LocalSourceParts } from './local-source.ts';

/** The source that the configuration asks for; undefined for `jvm.source: none`. */
export async function createJvmSource(
  parts: LocalSourceParts & HttpSourceParts & { readonly config: Pick<Config, 'jvm' | 'upstream'> },
): Promise<JvmSource | undefined> {
  const { source, http } = parts.config.jvm;
  if (source === 'none') return undefined;
  if (http === undefined || source === 'hsperfdata') return createLocalSource(parts);
  // Imported on demand: its HTTP client would add a tenth to the time of every start.
  const { createHttpSource } = await import('./http/create-http-source.ts');
  const remote = createHttpSource(http, parts);
  if (http.kind !== 'tomcat-status') return remote;
  const { timeoutMs } = parts.config.jvm;
  return new PairedSource(remote, createLocalSource(parts), { timeoutMs, logger: parts.logger });
}

/** Of the time for a reading: a page that does not answer must leave time for what the other source has read. */
const MEMORY_SHARE = 0.75;

/**
 * Takes memory from one source, classes and collectors from another. Tomcat's status page needs the fewest rights and
 * has only memory and connectors; the counters file has the rest. If one of them fails, the reading is that of the
 * other: a server that hangs answers no page, and then its descriptors and its deadlocks matter most.
 */
export class PairedSource implements JvmSource {
  readonly #memory: JvmSource;
  readonly #rest: JvmSource;
  readonly #options: { readonly timeoutMs: number; readonly logger: Logger };
  #loggedReason: string | undefined;
  name: string;

  /** `timeoutMs` is that of a reading. */
  constructor(memory: JvmSource, rest: JvmSource, options: { readonly timeoutMs: number; readonly logger: Logger }) {
    this.#memory = memory;
    this.#rest = rest;
    this.#options = options;
    this.name = memory.name;
  }

  get boundsHit(): ReadonlyMap<string, number> {
    return new Map([...(this.#memory.boundsHit ?? []), ...(this.#rest.boundsHit ?? [])]);
  }

  async read(signal: AbortSignal): Promise<JvmReading> {
    const limitMs = this.#options.timeoutMs * MEMORY_SHARE;
    const limit = AbortSignal.timeout(limitMs);
    // Wait for both even if one has failed: a source must not be called again while it is still reading.
    const [memory, rest] = await Promise.allSettled([
      this.#memory.read(AbortSignal.any([signal, limit])),
      this.#rest.read(signal),
    ]);
    if (rest.status === 'rejected') {
      if (memory.status === 'rejected') throw memory.reason;
      this.name = this.#memory.name;
      return memory.value;
    }
    if (memory.status === 'rejected') {
      const reason = limit.aborted ? `no answer within ${limitMs} ms` : (memory.reason as Error).message;
      const message = `the JVM's memory cannot be read from this source: it is read from ${this.#rest.name}`;
      // Once for each reason.
      if (reason !== this.#loggedReason) this.#options.logger.warn({ source: this.#memory.name, reason }, message);
      this.#loggedReason = reason;
      this.name = this.#rest.name;
      return rest.value;
    }
    this.#loggedReason = undefined;
    this.name = `${this.#memory.name}+${this.#rest.name}`;
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
