import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { platform } from '../base/platform/platform.ts';
import { sanitizeText } from '../base/shown-text.ts';
import type { Config } from '../config/config.ts';
import { AttachOverlay } from './attach/attach-overlay.ts';
import { createWindowsSystem, findWindowsJvm } from './hsperfdata/find-windows-jvm.ts';
import { HsperfdataSource } from './hsperfdata/hsperfdata-source.ts';
import { type JvmReading, type JvmSource, JvmSourceError } from './jvm-source.ts';
import type { ServerProcess } from './server-reading.ts';

/** The four commands of a reading take 2 to 3 ms. */
const MAX_ATTACH_MS = 500;

export interface LocalSourceParts {
  readonly config: {
    readonly jvm: Pick<Config['jvm'], 'attach' | 'timeoutMs' | 'pid' | 'user'>;
    readonly upstream: Pick<Config['upstream'], 'host' | 'port'>;
  };
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Reads the JVM of this machine that listens where the upstream is. */
export function createLocalSource({ config: { jvm, upstream }, clock, logger }: LocalSourceParts): LocalSource {
  const { attach, timeoutMs, pid, user } = jvm;
  // A failed overlay must leave time for the reading itself.
  const overlay = new AttachOverlay({ mayOpen: attach, timeoutMs: Math.min(MAX_ATTACH_MS, timeoutMs / 2) });
  const windows = platform.serviceManager === 'windows' ? createWindowsSystem(process.env) : undefined;
  const counters = new HsperfdataSource({
    ...{ pid, user, clock, procPath: platform.procPath },
    find: windows && ((options, signal) => findWindowsJvm(options, signal, windows)),
    upstreamHost: upstream.host,
    upstreamPort: upstream.port,
    isAnswering: (found, signal) => overlay.isAlive(found, signal),
  });
  return new LocalSource(counters, overlay, logger);
}

const ATTACH_UNUSED = 'the JVM’s attach socket is not used: its memory is read from its counters only';

/** What to add to the sidecar's unit; undefined if nothing is missing. `process` is undefined if /proc does not show it. */
function adviseOnProcess(process: ServerProcess | undefined): string | undefined {
  // Nothing shows it there.
  if (platform.serviceManager === 'windows') return undefined;
  if (process === undefined) {
    return (
      'Its process is not visible in /proc. Add "ProtectProc=default" to [Service] in a drop-in of the sidecar’s unit; ' +
      'in a Pod, set shareProcessNamespace: true.'
    );
  }
  if (process.openDescriptors !== undefined) return undefined;
  return (
    'Before Linux 6.2, only a process with at least the server’s capabilities may count its descriptors. Add "PrivateUsers=no" to the ' +
    'sidecar’s unit and, if the server’s unit has AmbientCapabilities= (tomcat10.service: CAP_NET_BIND_SERVICE), the same ' +
    '"AmbientCapabilities=" and "CapabilityBoundingSet=".'
  );
}

/** The default source: the counters file, overlaid with values from the attach socket if there is one. */
export class LocalSource implements JvmSource {
  readonly boundsHit: ReadonlyMap<string, number>;
  readonly #counters: HsperfdataSource;
  readonly #attach: AttachOverlay;
  readonly #logger: Logger;
  readonly #logged = new Map<string, string | undefined>();
  #loggedJvm: string | undefined;

  constructor(counters: HsperfdataSource, attach: AttachOverlay, logger: Logger) {
    this.#counters = counters;
    this.boundsHit = counters.boundsHit;
    this.#attach = attach;
    this.#logger = logger;
  }

  get name(): string {
    return this.#attach.isApplied ? 'hsperfdata+attach' : 'hsperfdata';
  }

  async read(signal: AbortSignal): Promise<JvmReading> {
    const reading = await this.#counters.read(signal);
    this.#logOnce(
      'the server’s processor time, memory or descriptors are not known',
      adviseOnProcess(reading.server?.process),
    );
    const jvm = this.#counters.found;
    if (jvm === undefined) return reading;
    if (jvm.description !== this.#loggedJvm) this.#logger.info({ jvm: jvm.description }, 'reading this JVM');
    this.#loggedJvm = jvm.description;
    const overlaid = await this.#attach.apply(reading, jvm, signal);
    this.#logOnce(ATTACH_UNUSED, this.#attach.reason);
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
  #logOnce(message: string, reason: string | undefined): void {
    if (reason === this.#logged.get(message)) return;
    this.#logged.set(message, reason);
    if (reason !== undefined) this.#logger.info({ reason }, message);
  }

  close(): void {
    this.#counters.close();
    void this.#attach.close();
  }
}
