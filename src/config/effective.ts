/** The effective configuration in the form of a file, for people to read, without secrets. */
import type { AccessFiles, Config, ListenerTls, UpstreamTls } from './config.ts';
import { toDurationText } from './duration.ts';

const HIDDEN = '[hidden]';

/** YAML with all keys; the keys of users are shown as `[hidden]`. */
export async function toYaml(config: Config): Promise<string> {
  const { stringify } = await import('yaml');
  return stringify(toEffective(config), { lineWidth: 0 });
}

export function toEffective(config: Config): object {
  const { upstream, monitor, metrics, sessions, timeouts } = config;
  return {
    listen: { host: config.listen.host, port: config.listen.port, ...toTls(config.listen.tls) },
    upstream: {
      url: upstream.origin,
      connectTimeout: toDurationText(upstream.connectTimeoutMs),
      responseTimeout: toDurationText(upstream.responseTimeoutMs),
      ...toTls(upstream.tls),
    },
    applications: config.applications.map((path) => (path === '' ? '/' : path)),
    dataPath: config.dataPath,
    forwarded: config.forwarded,
    monitor: {
      host: monitor.host,
      port: monitor.port,
      ...toTls(monitor.tls),
      ...(monitor.auth === undefined ? {} : { auth: toAuth(monitor.auth) }),
      hosts: [...monitor.hosts],
      readyWithUpstream: monitor.readyWithUpstream,
      maxConnections: monitor.maxConnections,
      maxConnectionsPerAddress: monitor.maxConnectionsPerAddress,
      headTimeout: toDurationText(monitor.headTimeoutMs),
      idleTimeout: toDurationText(monitor.idleTimeoutMs),
      maxAnswerBytes: monitor.maxAnswerBytes,
    },
    metrics: {
      window: toDurationText(metrics.windowMs),
      durationUnit: metrics.durationUnit,
      maxNames: { ...metrics.maxNames },
      maxNamesPerSession: metrics.maxNamesPerSession,
    },
    sessions: {
      idle: toDurationText(sessions.idleMs),
      max: sessions.max,
      apiKeys: sessions.apiKeys.map(({ user }) => ({ user, key: HIDDEN })),
      cookie: sessions.cookie,
      formLogin: { ...sessions.formLogin },
      cometGone: toDurationText(sessions.cometGoneMs),
    },
    rest: {
      prefix: config.rest.prefix,
      rules: config.rest.rules.map((rule) => ({ ...rule, methods: [...rule.methods] })),
      defaultRules: config.rest.defaultRules,
      deny: [...config.rest.deny],
    },
    comet: toCometGroup(config.comet),
    jvm: toJvmGroup(config.jvm),
    otlp: toOtlpGroup(config.otlp),
    limits: { ...config.limits },
    timeouts: {
      head: toDurationText(timeouts.headMs),
      idle: toDurationText(timeouts.idleMs),
      halfClosed: toDurationText(timeouts.halfClosedMs),
    },
    stop: {
      delay: toDurationText(config.stop.delayMs),
      window: toDurationText(config.stop.windowMs),
      deadline: toDurationText(config.stop.deadlineMs),
    },
    state: { ...defined({ file: config.state.file }), interval: toDurationText(config.state.intervalMs) },
    ...(config.control.socket === undefined ? {} : { control: { socket: config.control.socket } }),
    log: { level: config.log.level },
    accessLog: toAccessLogGroup(config.accessLog),
  };
}

function toAuth(auth: 'none' | AccessFiles): 'none' | object {
  if (auth === 'none') return auth;
  const { certificates, ...files } = auth;
  return defined({ ...files, certificates: certificates?.map((reader) => ({ ...reader })) });
}

function toTls(tls: ListenerTls | UpstreamTls | undefined): object {
  return tls === undefined ? {} : { tls: defined({ ...tls }) };
}

function toCometGroup({ rules, userPointers, ackWaitMs, callTimeoutMs, ...comet }: Config['comet']): object {
  return {
    ...comet,
    rules: rules.map(({ reply, ...rule }) => defined({ ...rule, reply: reply && defined({ ...reply }) })),
    userPointers: [...userPointers],
    ackWait: toDurationText(ackWaitMs),
    callTimeout: toDurationText(callTimeoutMs),
  };
}

function toJvmGroup({ intervalMs, timeoutMs, staleAfterMs, ...jvm }: Config['jvm']): object {
  const { source, attach, pid, user, http } = jvm;
  const times = {
    interval: toDurationText(intervalMs),
    timeout: toDurationText(timeoutMs),
    staleAfter: toDurationText(staleAfterMs),
  };
  return {
    source,
    ...times,
    attach,
    ...defined({ pid, user }),
    ...(http === undefined ? {} : { http: defined({ ...http }) }),
  };
}

function toOtlpGroup({ timeoutMs, metrics, traces, ...otlp }: Config['otlp']): object {
  return {
    ...defined(otlp),
    timeout: toDurationText(timeoutMs),
    metrics: { enabled: metrics.enabled, interval: toDurationText(metrics.intervalMs) },
    traces: {
      enabled: traces.enabled,
      sampleRatio: traces.sampleRatio,
      slowerThan: toDurationText(traces.slowerThanMs),
    },
  };
}

function toAccessLogGroup({ file, slowerThanMs, ...rest }: Config['accessLog']): object {
  return { ...defined({ file }), ...rest, slowerThan: toDurationText(slowerThanMs) };
}

function defined(keys: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(keys).filter(([, value]) => value !== undefined));
}
