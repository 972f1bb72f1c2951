/** Converts the checked keys to the Config that the program uses, and checks the rules between several keys. */

import { buildOtlp, findOtlpConflicts } from './build-otlp.ts';
import { buildStop } from './build-stop.ts';
import { buildListenerTls, buildUpstreamTls, findTlsConflicts } from './build-tls.ts';
import type { Config } from './config.ts';
import type { Conflict } from './conflict.ts';
import { isLoopback, isSamePlace, isServedBy, toHostPortText } from './host-port.ts';
import type { ParsedConfig } from './schema.ts';

type AccessGroup = Exclude<ParsedConfig['monitor']['auth'], 'none' | undefined>;

export function findConflicts(parsed: ParsedConfig): readonly Conflict[] {
  const { listen, upstream, monitor, sessions } = parsed;
  const conflicts: Conflict[] = [];
  const url = upstream.url;
  if (url === undefined) {
    const line =
      'upstream.url: missing, expected http://host[:port][/application] as --upstream, in D2_SIDECAR_UPSTREAM_URL or in the file';
    conflicts.push({ keys: ['upstream.url'], line });
  } else if (isServedBy(url, listen) || isServedBy(url, monitor)) {
    const line = `upstream.url: ${toHostPortText(url)} is the sidecar itself, expected the application server`;
    conflicts.push({ keys: ['upstream.url', 'listen.host', 'listen.port', 'monitor.host', 'monitor.port'], line });
  }
  if (isSamePlace(listen, monitor)) {
    const line = `monitor.port: got ${monitor.port}, expected another port than listen.port (${toHostPortText(listen)})`;
    conflicts.push({ keys: ['listen.host', 'listen.port', 'monitor.host', 'monitor.port'], line });
  }
  if (!isLoopback(monitor.host) && monitor.auth === undefined) {
    const line =
      `monitor.host: ${monitor.host} can be reached from other machines, and monitor.auth does not say who may read: ` +
      'expected monitor.auth.usersFile or monitor.auth.tokensFile, monitor.auth: none (or D2_SIDECAR_MONITOR_AUTH=none) to let ' +
      'everybody, or monitor.host: 127.0.0.1';
    conflicts.push({ keys: ['monitor.host', 'monitor.auth'], line });
  }
  if (typeof monitor.auth === 'object' && isNobody(monitor.auth)) {
    const line =
      'monitor.auth: names no file, expected monitor.auth.usersFile or monitor.auth.tokensFile, or monitor.auth.certificates';
    conflicts.push({
      keys: ['monitor.auth', ...['usersFile', 'tokensFile', 'certificates'].map((name) => `monitor.auth.${name}`)],
      line,
    });
  }
  conflicts.push(...findTlsConflicts(parsed));
  conflicts.push(...findJvmConflicts(parsed.jvm));
  conflicts.push(...findOtlpConflicts(parsed.otlp));
  conflicts.push(...findSharedKeys(sessions.apiKeys));
  return conflicts;
}

function isNobody({ usersFile, tokensFile, certificates = [] }: AccessGroup): boolean {
  return (usersFile ?? tokensFile) === undefined && certificates.length === 0;
}

function findJvmConflicts({ source, http }: ParsedConfig['jvm']): readonly Conflict[] {
  const { kind, url, username, passwordFile, passwordEnv } = http;
  const conflicts: Conflict[] = [];
  if ((kind === undefined) !== (url === undefined)) {
    const [missing, other] = kind === undefined ? ['kind', 'url'] : ['url', 'kind'];
    conflicts.push({
      keys: ['jvm.http.kind', 'jvm.http.url'],
      line: `jvm.http.${missing}: missing, expected it beside jvm.http.${other}`,
    });
  } else if (source === 'http' && url === undefined) {
    const line = 'jvm.http.url: missing, expected it and jvm.http.kind for jvm.source: http';
    conflicts.push({ keys: ['jvm.source', 'jvm.http'], line });
  }
  if (passwordFile !== undefined && passwordEnv !== undefined) {
    const line = 'jvm.http.passwordEnv: set beside jvm.http.passwordFile, expected one of them';
    conflicts.push({ keys: ['jvm.http.passwordFile', 'jvm.http.passwordEnv'], line });
  }
  if (username === undefined && (passwordFile ?? passwordEnv) !== undefined) {
    conflicts.push({ keys: ['jvm.http'], line: 'jvm.http.username: missing, expected it beside the password' });
  }
  return conflicts;
}

/** One key of two users would not show which of them sent it. */
function findSharedKeys(apiKeys: ParsedConfig['sessions']['apiKeys']): readonly Conflict[] {
  const firstIndex = new Map<string, number>();
  return apiKeys.flatMap(({ key }, index) => {
    const first = firstIndex.get(key) ?? index;
    firstIndex.set(key, first);
    if (first === index) return [];
    const path = `sessions.apiKeys[${index}].key`;
    return [
      {
        keys: ['sessions.apiKeys', path],
        line: `${path}: the same key as sessions.apiKeys[${first}], expected another`,
      },
    ];
  });
}

/** `parsed` has an upstream.url and no conflicts. The result is deeply frozen. */
export function buildConfig(parsed: ParsedConfig): Config {
  const { upstream, metrics, sessions, timeouts } = parsed;
  if (upstream.url === undefined) throw new TypeError('upstream.url is checked before');
  const { host, port, origin, isSecure, application } = upstream.url;
  const listed = application === undefined ? parsed.applications : [application, ...parsed.applications];
  const config: Config = {
    listen: { ...parsed.listen, tls: buildListenerTls(parsed.listen.tls) },
    upstream: {
      host,
      port,
      origin,
      connectTimeoutMs: upstream.connectTimeout,
      responseTimeoutMs: upstream.responseTimeout,
      tls: isSecure ? buildUpstreamTls(upstream.tls) : undefined,
    },
    // Without a path and without a list there is one application, at the root.
    applications: listed.length === 0 ? [''] : [...new Set(listed)],
    dataPath: parsed.dataPath,
    forwarded: parsed.forwarded,
    monitor: buildMonitor(parsed.monitor),
    metrics: {
      windowMs: metrics.window,
      durationUnit: metrics.durationUnit,
      maxNames: metrics.maxNames,
      maxNamesPerSession: metrics.maxNamesPerSession,
    },
    sessions: buildSessions(sessions),
    rest: parsed.rest,
    comet: buildComet(parsed.comet),
    jvm: buildJvm(parsed.jvm),
    otlp: buildOtlp(parsed.otlp),
    limits: parsed.limits,
    timeouts: { headMs: timeouts.head, idleMs: timeouts.idle, halfClosedMs: timeouts.halfClosed },
    stop: buildStop(parsed.stop),
    state: { file: parsed.state.file, intervalMs: parsed.state.interval },
    control: { socket: parsed.control.socket },
    log: parsed.log,
    accessLog: buildAccessLog(parsed.accessLog),
  };
  return freezeDeep(config);
}

function buildAccessLog({ slowerThan, file, ...rest }: ParsedConfig['accessLog']): Config['accessLog'] {
  return { ...rest, file, slowerThanMs: slowerThan };
}

function buildSessions({ idle, cometGone, ...rest }: ParsedConfig['sessions']): Config['sessions'] {
  return { ...rest, idleMs: idle, cometGoneMs: cometGone };
}

function buildComet({ ackWait, callTimeout, ...rest }: ParsedConfig['comet']): Config['comet'] {
  return { ...rest, ackWaitMs: ackWait, callTimeoutMs: callTimeout };
}

function buildMonitor({ auth, tls, hosts, ...monitor }: ParsedConfig['monitor']): Config['monitor'] {
  const { headTimeout: headTimeoutMs, idleTimeout: idleTimeoutMs, ...rest } = monitor;
  const times = { headTimeoutMs, idleTimeoutMs };
  return { ...rest, ...times, tls: buildListenerTls(tls), auth: buildAuth(auth), hosts: [...new Set(hosts)] };
}

function buildAuth(auth: ParsedConfig['monitor']['auth']): Config['monitor']['auth'] {
  if (typeof auth !== 'object') return auth;
  const { usersFile, tokensFile, certificates } = auth;
  return { usersFile, tokensFile, ...(certificates === undefined ? {} : { certificates }) };
}

function buildJvm(jvm: ParsedConfig['jvm']): Config['jvm'] {
  const { kind, url, ...rest } = jvm.http;
  const { username, passwordFile, passwordEnv, caFile, serverName } = rest;
  const access = { username, passwordFile, passwordEnv, caFile, serverName };
  return {
    source: jvm.source,
    intervalMs: jvm.interval,
    timeoutMs: jvm.timeout,
    staleAfterMs: jvm.staleAfter,
    attach: jvm.attach,
    pid: jvm.pid,
    user: jvm.user,
    http: kind === undefined || url === undefined ? undefined : { kind, url, ...access },
  };
}

function freezeDeep<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(freezeDeep);
    Object.freeze(value);
  }
  return value;
}
