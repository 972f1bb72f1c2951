import { buildConfig, type Config } from '../../../src/config/config.ts';
import { configSchema } from '../../../src/config/schema.ts';

const HOUR_MS = 3_600_000;

const defaults = buildConfig(configSchema.parse({ upstream: { url: 'http://127.0.0.1:8080/smartWeb' } }));

export const testSessions: Config['sessions'] = { ...defaults.sessions, idleMs: HOUR_MS };

export const testComet: Config['comet'] = { ...defaults.comet, userPointers: ['/ext/authentication/user'] };

/** A configuration for tests: free ports on loopback, no limit that a test could meet by accident, no log. */
export function testConfig(overrides: Partial<Config> = {}): Config {
  return {
    ...defaults,
    listen: { ...defaults.listen, host: '127.0.0.1', port: 0 },
    monitor: { ...defaults.monitor, port: 0 },
    sessions: testSessions,
    comet: testComet,
    jvm: { ...defaults.jvm, source: 'none' },
    timeouts: { headMs: 10_000, idleMs: HOUR_MS, halfClosedMs: 10_000 },
    stop: { delayMs: 0, windowMs: 0, deadlineMs: 100 },
    log: { level: 'silent' },
    accessLog: { ...defaults.accessLog, maxBytes: 0 },
    ...overrides,
  };
}
