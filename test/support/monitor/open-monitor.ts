import { createLogger } from '../../../src/base/logger.ts';
import type { AccessControl } from '../../../src/monitor/access/access-control.ts';
import { Guard } from '../../../src/monitor/guard.ts';
import { HostCheck } from '../../../src/monitor/host-check.ts';
import { Monitor } from '../../../src/monitor/monitor.ts';
import type { Monitored } from '../../../src/monitor/monitored.ts';
import type { MetricsOptions } from '../../../src/monitor/routes.ts';

type Options = Partial<MetricsOptions> & { readonly access?: AccessControl; readonly hosts?: readonly string[] };

export type OpenMonitor = Awaited<ReturnType<typeof openMonitor>>;

/** A sidecar that is started, and ready. */
export const HEALTHY: Monitored['health'] = { isStarted: true, isReady: () => Promise.resolve(true) };

/** A monitoring server on a free port of 127.0.0.1, open to everybody unless `access` is given. */
export async function openMonitor(
  monitored: Omit<Monitored, 'health'> & Partial<Monitored>,
  { access, hosts = [], ...options }: Options = {},
) {
  const monitor = new Monitor(
    { health: HEALTHY, ...monitored },
    { windowMs: 300_000, durationUnit: 'seconds', ...options },
    new Guard({ access, hosts: new HostCheck(hosts) }),
    createLogger('silent'),
  );
  const { port } = await monitor.listen({ host: '127.0.0.1', port: 0 });
  return { port, close: () => monitor.close() };
}
