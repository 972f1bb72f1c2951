/** Converts the configuration to options of the data plane, at the start and at each reload. */

import { AddressRanges } from '../base/address.ts';
import type { Config } from '../config/config.ts';
import { DeniedPaths } from '../measure/classify/denied-paths.ts';
import { replacedFields } from '../protocol/http1/forwarded.ts';
import { ClientFinder } from '../proxy/exchange/client-finder.ts';
import type { Admission } from '../proxy/exchange/exchange-reporter.ts';
import type { TrafficOptions } from '../proxy/exchange/traffic-options.ts';
import type { LiveDispatcherOptions } from '../proxy/listener/dispatcher.ts';

export function toTrafficOptions(config: Config): TrafficOptions {
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

export function toDispatcherOptions({ listen, limits }: Config): LiveDispatcherOptions {
  return {
    trustedProxies: new AddressRanges(listen.trustedProxies),
    hasProxyHeaders: listen.clientAddress === 'proxy-protocol',
    maxConnections: limits.connections,
    maxConnectionsPerAddress: limits.connectionsPerAddress,
  };
}

export function toAdmission({ limits, rest, listen }: Config): Admission {
  const { trustedProxies, clientAddress } = listen;
  const clientFinder =
    trustedProxies.length === 0 || clientAddress === 'proxy-protocol'
      ? undefined
      : new ClientFinder(clientAddress, new AddressRanges(trustedProxies));
  return { maxInFlight: limits.inFlight, denial: DeniedPaths.of(rest.deny), clientFinder };
}
