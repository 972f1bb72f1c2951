/** Creates the data plane from the configuration, and its options also at each reload. */
import { AddressRanges } from '../base/address.ts';
import type { Config } from '../config/config.ts';
import { HeavyWork } from '../limits/heavy-work.ts';
import { StalledWrites } from '../limits/stalled-writes.ts';
import { EvictableBodies } from '../limits/unfinished-bodies.ts';
import { DeniedPaths } from '../measure/classify/denied-paths.ts';
import { replacedFields } from '../protocol/http1/forwarded.ts';
import { createClientFinder } from '../proxy/exchange/client-finder.ts';
import type { Admission, ExchangeReporter } from '../proxy/exchange/exchange-reporter.ts';
import { Dispatcher, type LiveDispatcherOptions } from '../proxy/listener/dispatcher.ts';
import { SilenceWatch } from '../proxy/relay/silence-watch.ts';
import { WriteBatch } from '../proxy/relay/write-batch.ts';
import { ReadBuffers } from '../proxy/upstream/read-buffer.ts';
import type { TrafficOptions } from '../proxy/upstream/traffic-services.ts';
import type { Upstream } from '../proxy/upstream/upstream.ts';
import type { SidecarParts } from './open-parts.ts';

export function selectTrafficOptions(config: Config): TrafficOptions {
  const { forwarded, clientCertificate, upstream, limits, timeouts } = config;
  return {
    forwarded,
    clientCertificate,
    replacedFields: replacedFields(forwarded, clientCertificate),
    headBytes: limits.headBytes,
    maxFields: limits.fields,
    headTimeoutMs: timeouts.headMs,
    idleTimeoutMs: timeouts.idleMs,
    halfClosedTimeoutMs: timeouts.halfClosedMs,
    responseTimeoutMs: upstream.responseTimeoutMs,
  };
}

export function selectDispatcherOptions({ listen, limits }: Config): LiveDispatcherOptions {
  return {
    trustedProxies: new AddressRanges(listen.trustedProxies),
    hasProxyHeaders: listen.clientAddress === 'proxy-protocol',
    maxConnections: limits.connections,
    maxConnectionsPerAddress: limits.connectionsPerAddress,
  };
}

export function createAdmission({ limits, rest, listen }: Config): Admission {
  const { trustedProxies, clientAddress } = listen;
  const clientFinder =
    trustedProxies.length === 0 || clientAddress === 'proxy-protocol'
      ? undefined
      : createClientFinder(clientAddress, new AddressRanges(trustedProxies));
  return { maxInFlight: limits.inFlight, denial: DeniedPaths.of(rest.deny), clientFinder };
}

export function createDispatcher(
  config: Config,
  upstream: Upstream,
  reporter: ExchangeReporter,
  { clock, logger, tls, recorder: { memory } }: SidecarParts,
): Dispatcher {
  const services = {
    options: selectTrafficOptions(config),
    ...{ upstream, reporter },
    memory,
    requests: new EvictableBodies(memory, 'requests'),
    stalled: new StalledWrites(memory, clock),
    ...{
      writes: new WriteBatch(),
      silence: new SilenceWatch(),
      heavy: new HeavyWork(clock),
      buffers: new ReadBuffers(),
    },
  };
  return new Dispatcher({ ...selectDispatcherOptions(config), tls: tls.listen }, services, clock, logger);
}
