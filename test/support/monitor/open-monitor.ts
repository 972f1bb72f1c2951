import { systemClock } from '../../../src/base/clock.ts';
import { createLogger } from '../../../src/base/logger.ts';
import { LimitHits } from '../../../src/limits/limit-hits.ts';
import type { AccessControl } from '../../../src/monitor/access/access-control.ts';
import { createGuard, createHostCheck } from '../../../src/monitor/guard.ts';
import { Monitor } from '../../../src/monitor/monitor.ts';
import type { Monitored } from '../../../src/monitor/monitored.ts';
import type { MetricsOptions } from '../../../src/monitor/routes.ts';

type Options = Partial<MetricsOptions> & { readonly access?: AccessControl; readonly hosts?: readonly string[] };

export type OpenMonitor = Awaited<ReturnType<typeof openMonitor>>;

const logger = createLogger('silent');

/** As the defaults of the configuration. */
const LIMITS = {
  ...{ maxConnections: 1_000, maxConnectionsPerAddress: 100, headTimeoutMs: 10_000 },
  ...{ idleTimeoutMs: 75_000, maxAnswerBytes: 64 * 1024 * 1024 },
};

/** A sidecar that is started, and ready. */
export const HEALTHY: Monitored['health'] = { isStarted: true, isReady: () => Promise.resolve(true) };

/** A monitoring server on a free port of 127.0.0.1, open to everybody unless `access` is given. */
export async function openMonitor(
  monitored: Omit<Monitored, 'health'> & Partial<Monitored>,
  { access, hosts = [], ...options }: Options = {},
) {
  const hostCheck = createHostCheck(hosts);
  const monitor = new Monitor(
    { health: HEALTHY, ...monitored },
    { windowMs: 300_000, durationUnit: 'seconds', ...options },
    createGuard({ access: () => access, hosts: () => hostCheck }),
    logger,
    { limits: LIMITS, hits: new LimitHits(systemClock, logger) },
  );
  const { port } = await monitor.listen({ host: '127.0.0.1', port: 0 });
  return { port, close: () => monitor.close() };
}
