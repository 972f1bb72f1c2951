/**
 * This folder reads the JVM's condition over HTTP; here are the kinds of `jvm.http.kind`. It must not know the counters
 * file, the attach socket or the calls that the proxy relays.
 */
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Config, JvmHttpKind, JvmHttpSource } from '../../config/config.ts';
import { type HttpKind, HttpSource } from './http-source.ts';
import { JOLOKIA } from './jolokia.ts';
import { PROMETHEUS } from './prometheus.ts';
import { createCredentialsReader } from './server-credentials.ts';
import { TOMCAT_JMXPROXY } from './tomcat-jmxproxy.ts';
import { TOMCAT_STATUS } from './tomcat-status.ts';
import { WILDFLY } from './wildfly.ts';

export interface HttpSourceParts {
  readonly config: { readonly jvm: Pick<Config['jvm'], 'timeoutMs'> };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const KINDS: Readonly<Record<JvmHttpKind, HttpKind>> = {
  'tomcat-jmxproxy': TOMCAT_JMXPROXY,
  'tomcat-status': TOMCAT_STATUS,
  jolokia: JOLOKIA,
  prometheus: PROMETHEUS,
  wildfly: WILDFLY,
};

export function createHttpSource(http: JvmHttpSource, { config, clock, logger, env }: HttpSourceParts): HttpSource {
  const credentials = createCredentialsReader({ ...http, env, logger });
  return new HttpSource(KINDS[http.kind], { ...http, credentials, timeoutMs: config.jvm.timeoutMs, clock });
}
