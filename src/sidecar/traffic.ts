/** Creates the data plane from the configuration. */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Config } from '../config/config.ts';
import type { MemoryBudget } from '../limits/memory-budget.ts';
import { RequestMemory } from '../limits/request-memory.ts';
import { StalledWrites } from '../limits/stalled-writes.ts';
import type { ExchangeReporter } from '../proxy/exchange/exchange-reporter.ts';
import { Dispatcher } from '../proxy/listener/dispatcher.ts';
import { SilenceWatch } from '../proxy/relay/silence-watch.ts';
import { WriteBatch } from '../proxy/relay/write-batch.ts';
import { ReadBuffers } from '../proxy/upstream/read-buffer.ts';
import type { Upstream } from '../proxy/upstream/upstream.ts';
import { toDispatcherOptions, toTrafficOptions } from './live-options.ts';
import type { SidecarTls } from './sidecar-tls.ts';

interface TrafficParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tls: SidecarTls;
  readonly memory: MemoryBudget;
}

export function createDispatcher(
  config: Config,
  upstream: Upstream,
  reporter: ExchangeReporter,
  { clock, logger, tls, memory }: TrafficParts,
): Dispatcher {
  const services = {
    options: toTrafficOptions(config),
    ...{ upstream, reporter },
    memory: new RequestMemory(memory),
    stalled: new StalledWrites(memory, clock),
    ...{ writes: new WriteBatch(), silence: new SilenceWatch(), buffers: new ReadBuffers() },
  };
  return new Dispatcher({ ...toDispatcherOptions(config), tls: tls.listen }, services, clock, logger);
}
