/** Creates the two data paths from the configuration. */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Config } from '../config/config.ts';
import type { RequestMemory } from '../limits/request-memory.ts';
import type { StalledWrites } from '../limits/stalled-writes.ts';
import type { ExchangeReporter } from '../proxy/exchange/exchange-reporter.ts';
import { Gateway } from '../proxy/gateway/gateway.ts';
import { Dispatcher } from '../proxy/listener/dispatcher.ts';
import { SilenceWatch } from '../proxy/relay/silence-watch.ts';
import { WriteBatch } from '../proxy/relay/write-batch.ts';
import { ReadBuffers } from '../proxy/upstream/read-buffer.ts';
import type { Upstream } from '../proxy/upstream/upstream.ts';
import { toDataPathOptions, toDispatcherOptions, toGatewayOptions } from './live-options.ts';
import type { SidecarTls } from './sidecar-tls.ts';

interface DataPathParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tls: SidecarTls;
  readonly memory: RequestMemory;
  readonly stalled: StalledWrites;
}

export function createGateway(
  config: Config,
  upstream: Upstream,
  reporter: ExchangeReporter,
  { clock, logger, tls, memory, stalled }: DataPathParts,
): Gateway {
  const options = {
    upstreamHost: config.upstream.host,
    upstreamPort: config.upstream.port,
    ...toGatewayOptions(config),
    upstreamTls: tls.upstream,
    reachability: upstream,
    memory,
    stalled,
  };
  return new Gateway(options, reporter, clock, logger);
}

export function createDispatcher(
  config: Config,
  upstream: Upstream,
  reporter: ExchangeReporter,
  gateway: Gateway,
  { clock, logger, tls, memory, stalled }: DataPathParts,
): Dispatcher {
  const options = toDataPathOptions(config);
  const dispatcherOptions = { ...toDispatcherOptions(config), tls: tls.listen };
  const shared = { writes: new WriteBatch(), silence: new SilenceWatch(), buffers: new ReadBuffers() };
  const services = { options, upstream, reporter, memory, stalled, ...shared };
  return new Dispatcher(dispatcherOptions, services, gateway, clock, logger);
}
