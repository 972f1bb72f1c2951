/**
 * Reads the JVM from a server or an agent over HTTP, by a fixed read-only request for each kind. This folder uses
 * neither the counters file nor the attach socket.
 */
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { JvmHttpKind, JvmHttpSource } from '../../config/config.ts';
import type { JvmSource } from '../jvm-source.ts';
import { createCredentialsReader } from './credentials.ts';
import type { HttpSourceOptions } from './http-client.ts';
import { JolokiaSource } from './jolokia.ts';
import { PrometheusSource } from './prometheus.ts';
import { TomcatJmxProxySource } from './tomcat-jmxproxy.ts';
import { TomcatStatusSource } from './tomcat-status.ts';
import { WildFlySource } from './wildfly.ts';

export interface HttpSourceParts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** For `jvm.http.passwordEnv`. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function createHttpSource(http: JvmHttpSource, { clock, logger, env }: HttpSourceParts): JvmSource {
  const { kind, url, username, passwordFile, passwordEnv, caFile, serverName } = http;
  const credentials = createCredentialsReader({ username, passwordFile, passwordEnv, env, logger });
  return createByKind(kind, { url, credentials, clock, tls: { caFile, serverName } });
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
