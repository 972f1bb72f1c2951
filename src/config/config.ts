/**
 * The configuration as the program sees it: parsed once, frozen, all defaults filled in. schema.ts defines its keys; a
 * key with a time, such as `timeouts.idle`, is `timeouts.idleMs` here.
 */
import { type HostPort, isLoopback } from './host-port.ts';
import { selectJvmHttp } from './jvm-schema.ts';
import type { ParsedConfig } from './schema.ts';
import type { Frozen } from './schema-keys.ts';
import { selectListenerTls } from './tls-schema.ts';

export type Config = ReturnType<typeof buildConfig>;

export type { HostPort };
export type ListenerTlsConfig = NonNullable<Config['listen']['tls']>;
export type UpstreamTlsConfig = NonNullable<Config['upstream']['tls']>;
export type AccessFiles = Exclude<Config['monitor']['auth'], 'none' | undefined>;
export type ApiKeyUser = Config['sessions']['apiKeys'][number];
export type JvmHttpSource = NonNullable<Config['jvm']['http']>;
export type JvmHttpKind = JvmHttpSource['kind'];

/** `parsed` has an upstream.url and no conflicts. The result is deeply frozen. */
export function buildConfig(parsed: ParsedConfig) {
  const { listen, monitor, jvm, applications, forwarded, stop } = parsed;
  const { url, tls, ...upstreamTimes } = parsed.upstream;
  if (url === undefined) throw new TypeError('upstream.url must be checked first');
  const { host, port, baseUrl, isSecure, application } = url;
  const listed = application === undefined ? applications : [application, ...applications];
  // Defaults that would end after the deadline are shortened.
  const delayMs = Math.min(stop.delayMs, stop.deadlineMs);
  return freezeDeep({
    ...parsed,
    listen: { ...listen, tls: selectListenerTls(listen.tls) },
    // `baseUrl` is for people, e.g. `http://127.0.0.1:8080`. Without `tls`, it is plain HTTP.
    upstream: { host, port, baseUrl, ...upstreamTimes, tls: isSecure ? tls : undefined },
    // Without a path and without a list there is one application, at the root.
    applications: listed.length === 0 ? [''] : [...new Set(listed)],
    forwarded: forwarded.addresses,
    clientCertificate: forwarded.clientCertificate,
    monitor: { ...monitor, tls: selectListenerTls(monitor.tls), hosts: [...new Set(monitor.hosts)] },
    jvm: { ...jvm, http: selectJvmHttp(jvm.http) },
    stop: { delayMs, windowMs: Math.min(stop.windowMs, stop.deadlineMs - delayMs), deadlineMs: stop.deadlineMs },
  });
}

function freezeDeep<T>(value: T): Frozen<T> {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(freezeDeep);
    Object.freeze(value);
  }
  return value as Frozen<T>;
}

/**
 * A warning if clients of other machines reach an application server on loopback: anything there that trusts loopback
 * then trusts all of them. Undefined if that is impossible, or if `rest.deny` shows that the operator is aware of it.
 */
export function findLoopbackTrust({ upstream, listen, rest }: Config): string | undefined {
  if (!isLoopback(upstream.host) || isLoopback(listen.host) || rest.deny.length > 0) return undefined;
  return (
    'the application server now sees every client as loopback, so whatever trusts loopback, e.g. the manager of Tomcat, is open to ' +
    'everyone. List such paths in rest.deny, e.g. [/manager, /host-manager] (docs/tomcat.md)'
  );
}
