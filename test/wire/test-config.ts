import type { Config } from '../../src/config/config.ts';

const HOUR_MS = 3_600_000;

export const testSessions: Config['sessions'] = {
  idleMs: HOUR_MS,
  max: 10_000,
  apiKeys: [],
  cookie: 'JSESSIONID',
  formLogin: { path: 'j_security_check', userField: 'j_username' },
  cometGoneMs: 300_000,
};

export const testComet: Config['comet'] = {
  enabled: true,
  path: 'api/cometd',
  rules: [],
  defaultRules: true,
  userPointers: ['/ext/authentication/user'],
  ackWaitMs: 30_000,
  callTimeoutMs: 600_000,
  maxBodyBytes: 1_048_576,
  maxInflatedBytes: 1_048_576,
  maxSubscriptions: 10_000,
  maxPendingCalls: 1_000,
};

/** A configuration for tests: every port taken freely on the loopback, no limit that a test meets by accident, no log. */
export function testConfig(overrides: Partial<Config> = {}): Config {
  const rest = { prefix: 'api/rest/v0', rules: [], defaultRules: true, deny: [] };
  return {
    listen: { host: '127.0.0.1', port: 0 },
    upstream: {
      host: '127.0.0.1',
      port: 8080,
      origin: 'http://127.0.0.1:8080',
      connectTimeoutMs: 5_000,
      responseTimeoutMs: 0,
    },
    applications: ['smartWeb'],
    dataPath: 'auto',
    forwarded: 'append',
    monitor: {
      ...{ host: '127.0.0.1', port: 0, auth: undefined, hosts: [], readyWithUpstream: false },
      ...{
        maxConnections: 1_000,
        maxConnectionsPerAddress: 100,
        headTimeoutMs: 10_000,
        idleTimeoutMs: 75_000,
        maxAnswerBytes: 67_108_864,
      },
    },
    metrics: {
      windowMs: 300_000,
      durationUnit: 'seconds',
      maxNames: { rpc: 2_000, sba: 2_000, object: 10_000 },
      maxNamesPerSession: 200,
    },
    sessions: testSessions,
    rest,
    comet: testComet,
    jvm: {
      source: 'none',
      intervalMs: 5_000,
      timeoutMs: 2_000,
      staleAfterMs: 15_000,
      attach: false,
      pid: undefined,
      user: undefined,
      http: undefined,
    },
    otlp: {
      ...{ endpoint: undefined, headersFile: undefined, headersEnv: undefined, caFile: undefined, timeoutMs: 10_000 },
      metrics: { enabled: true, intervalMs: 60_000 },
      traces: { enabled: false, sampleRatio: 0, slowerThanMs: 0 },
    },
    limits: {
      ...{ headBytes: 65_536, fields: 1_000, connections: 10_000, connectionsPerAddress: 0, inFlight: 0 },
      memoryBytes: 67_108_864,
    },
    timeouts: { headMs: 10_000, idleMs: HOUR_MS, halfClosedMs: 10_000 },
    stop: { delayMs: 0, windowMs: 0, deadlineMs: 100 },
    state: { file: undefined, intervalMs: 10_000 },
    control: { socket: undefined },
    log: { level: 'silent' },
    accessLog: {
      ...{ file: undefined, sample: 1, slowerThanMs: 0, errorsAlways: true, others: false, users: true },
      ...{ maxBytes: 0, keep: 4 },
    },
    ...overrides,
  };
}
