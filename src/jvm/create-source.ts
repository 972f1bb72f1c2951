/**
 * Reads the condition of the application server's JVM (memory, classes, collectors) from one configured source: the
 * counters file, the attach socket, or HTTP. This folder knows nothing of the calls that the proxy relays.
 */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { platform } from '../base/platform/platform.ts';
import type { Config } from '../config/config.ts';
import { AttachOverlay } from './attach/attach-overlay.ts';
import { createWindowsSystem, findWindowsJvm } from './hsperfdata/find-windows-jvm.ts';
import { HsperfdataSource } from './hsperfdata/hsperfdata-source.ts';
import type { JvmSource } from './jvm-source.ts';
import { LocalSource } from './local-source.ts';
import { PairedSource } from './paired-source.ts';

/** The four commands of a reading take 2 to 3 ms. */
const MAX_ATTACH_MS = 500;

interface LocalSourceParts {
  readonly config: {
    readonly jvm: Pick<Config['jvm'], 'attach' | 'timeoutMs' | 'pid' | 'user'>;
    readonly upstream: Pick<Config['upstream'], 'host' | 'port'>;
  };
  readonly clock: Clock;
  readonly logger: Logger;
}

interface JvmSourceParts extends LocalSourceParts {
  readonly config: Pick<Config, 'jvm' | 'upstream'>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The source that the configuration asks for; undefined for `jvm.source: none`. */
export async function createJvmSource(parts: JvmSourceParts): Promise<JvmSource | undefined> {
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
