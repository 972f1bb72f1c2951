import type { Clock } from '../clock.ts';
import type { Config, JvmHttpKind, JvmHttpSource } from '../config/config.ts';
import type { Logger } from '../logger.ts';
import { AttachOverlay } from './attach/attach-overlay.ts';
import { HsperfdataSource } from './hsperfdata/hsperfdata-source.ts';
import { createCredentialsReader } from './http/credentials.ts';
import type { HttpSourceOptions } from './http/http-client.ts';
import { JolokiaSource } from './http/jolokia.ts';
import { PrometheusSource } from './http/prometheus.ts';
import { TomcatJmxProxySource } from './http/tomcat-jmxproxy.ts';
import { TomcatStatusSource } from './http/tomcat-status.ts';
import { WildFlySource } from './http/wildfly.ts';
import type { JvmSource } from './jvm-source.ts';
import { LocalSource } from './local-source.ts';
import { PairedSource } from './paired-source.ts';

/** The four questions take 2 to 3 ms. */
const MAX_ATTACH_MS = 500;

export interface JvmSourceParts {
  readonly config: Pick<Config, 'jvm' | 'upstream'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** For `jvm.http.passwordEnv`. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The source that the configuration asks for; undefined for `jvm.source: none`. */
export function createJvmSource(parts: JvmSourceParts): JvmSource | undefined {
  const { source, http } = parts.config.jvm;
  if (source === 'none') return undefined;
  if (http === undefined || source === 'hsperfdata') return createLocalSource(parts);
  return createHttpSource(http, parts);
}

function createLocalSource(parts: JvmSourceParts): JvmSource {
  const { attach, timeoutMs } = parts.config.jvm;
  // Its failing must leave time for the reading that it is laid over.
  const overlay = new AttachOverlay({ mayOpen: attach, timeoutMs: Math.min(MAX_ATTACH_MS, timeoutMs / 2) });
  return new LocalSource(createCounters(parts, overlay), overlay, parts.logger);
}

function createCounters({ config, clock }: JvmSourceParts, overlay?: AttachOverlay): HsperfdataSource {
  const { jvm, upstream } = config;
  return new HsperfdataSource({
    pid: jvm.pid,
    user: jvm.user,
    upstreamHost: upstream.host,
    upstreamPort: upstream.port,
    clock,
    isAnswering: overlay && ((found, signal) => overlay.isAlive(found, signal)),
  });
}

function createHttpSource(http: JvmHttpSource, parts: JvmSourceParts): JvmSource {
  const { clock, logger, env } = parts;
  const { kind, url, username, passwordFile, passwordEnv, caFile, serverName } = http;
  const credentials = createCredentialsReader({ username, passwordFile, passwordEnv, env, logger });
  const options: HttpSourceOptions = { url, credentials, clock, tls: { caFile, serverName } };
  const source = createByKind(kind, options);
  return kind === 'tomcat-status' ? new PairedSource(source, createCounters(parts)) : source;
}

function createByKind(kind: JvmHttpKind, options: HttpSourceOptions): JvmSource {
  switch (kind) {
    case 'tomcat-jmxproxy':
      return new TomcatJmxProxySource(options);
    case 'tomcat-status':
      return new TomcatStatusSource(options);
    case 'jolokia':
      return new JolokiaSource(options);
    case 'prometheus':
      return new PrometheusSource(options);
    case 'wildfly':
      return new WildFlySource(options);
  }
}
