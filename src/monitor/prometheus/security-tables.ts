/** TLS, access to the monitoring port, and reloads of the configuration. */
import type { MonitoredSecurity } from '../monitored-security.ts';
import { labelled, type Sample, single, type Table } from './table.ts';

const COUNTER = 'counter';
const GAUGE = 'gauge';

const MS_PER_S = 1_000;

export function securityTables({ access, connections, tls, reloads }: MonitoredSecurity): readonly Table[] {
  return [
    ...connectionTables(connections),
    ...accessTables(access),
    ...tlsTables(tls),
    ...fileTables(access, tls),
    ...reloadTables(reloads),
  ];
}

function connectionTables(connections: MonitoredSecurity['connections']): readonly Table[] {
  return [
    single(
      GAUGE,
      'd2_sidecar_monitor_connections',
      'Connections to the monitoring port open now.',
      () => connections.size,
    ),
    single(
      COUNTER,
      'd2_sidecar_monitor_overflows_total',
      'Connections to the monitoring port closed, since too many requests were sent ahead on them.',
      () => connections.overflows,
    ),
  ];
}

function accessTables({ counts }: MonitoredSecurity['access']): readonly Table[] {
  return [
    single(
      COUNTER,
      'd2_sidecar_monitor_unverified_passwords_total',
      'Requests on the monitoring port whose password was not verified, since too many were waiting for it.',
      () => counts?.unverified,
    ),
    single(
      COUNTER,
      'd2_sidecar_monitor_forgotten_addresses_total',
      'Addresses with wrong credentials that were forgotten to make room for others.',
      () => counts?.forgotten,
    ),
  ];
}

function tlsTables({ listen, monitor, upstream }: MonitoredSecurity['tls']): readonly Table[] {
  const listeners = Object.entries({ listen, monitor });
  return [
    {
      name: 'd2_sidecar_tls_handshakes_failed_total',
      type: COUNTER,
      help: 'TLS handshakes of clients that failed: they took too long, had no certificate to be let in with, or anything else.',
      labels: ['listener', 'reason'],
      *samples() {
        for (const [listener, part] of listeners) {
          if (part === undefined) continue;
          const { failed, timedOut, refused } = part.numbers;
          yield { labels: [listener, 'timeout'], value: timedOut };
          yield { labels: [listener, 'certificate'], value: refused };
          yield { labels: [listener, 'other'], value: failed - timedOut - refused };
        }
      },
    },
    {
      name: 'd2_sidecar_tls_unverified_clients_total',
      type: COUNTER,
      help: 'Clients let in as if they had no certificate, since theirs leads to no authority.',
      labels: ['listener'],
      *samples() {
        for (const [listener, part] of listeners) {
          if (part !== undefined) yield { labels: [listener], value: part.numbers.unverified };
        }
      },
    },
    single(
      COUNTER,
      'd2_sidecar_upstream_tls_failures_total',
      'Connections to the upstream on which TLS could not be set up.',
      () => upstream?.numbers.failed,
    ),
    {
      name: 'd2_sidecar_tls_certificate_expiry_timestamp_seconds',
      type: GAUGE,
      help: 'When the certificate in use ends, in seconds since 1970.',
      labels: ['section'],
      *samples() {
        for (const [section, part] of Object.entries({ listen, monitor, upstream })) {
          const endEpochMs = part?.numbers.notAfterEpochMs;
          if (endEpochMs !== undefined) yield { labels: [`${section}.tls`], value: endEpochMs / MS_PER_S };
        }
      },
    },
  ];
}

function fileTables(
  access: MonitoredSecurity['access'],
  { listen, monitor, upstream }: MonitoredSecurity['tls'],
): readonly Table[] {
  const sections = { 'listen.tls': listen, 'monitor.tls': monitor, 'upstream.tls': upstream, 'monitor.auth': access };
  function* samplesOf(name: 'replaced' | 'unusable'): Generator<Sample> {
    for (const [section, part] of Object.entries(sections)) {
      if (part !== undefined) yield { labels: [section], value: part.numbers[name] };
    }
  }
  return [
    {
      name: 'd2_sidecar_files_replaced_total',
      type: COUNTER,
      help: 'Times that changed files of certificates, users or tokens were taken over.',
      labels: ['section'],
      samples: () => samplesOf('replaced'),
    },
    {
      name: 'd2_sidecar_files_unusable_total',
      type: COUNTER,
      help: 'Times that files of certificates, users or tokens could not be used: changed ones, so that the old ones hold, or those of the start.',
      labels: ['section'],
      samples: () => samplesOf('unusable'),
    },
  ];
}

function reloadTables(reloads: MonitoredSecurity['reloads']): readonly Table[] {
  return [
    labelled(
      {
        type: COUNTER,
        name: 'd2_sidecar_config_reloads_total',
        help: 'Reloads of the configuration: applied, or refused, after which everything is as before.',
        label: 'result',
      },
      () => reloads.results,
    ),
    single(
      GAUGE,
      'd2_sidecar_config_last_reload_successful',
      'Whether the last reload was applied; 1 before the first.',
      () => Number(reloads.isLastApplied),
    ),
    single(
      GAUGE,
      'd2_sidecar_config_last_reload_success_timestamp_seconds',
      'When the configuration that holds was read, in seconds since 1970.',
      () => reloads.lastAppliedEpochMs / MS_PER_S,
    ),
    single(
      GAUGE,
      'd2_sidecar_config_keys_waiting_for_restart',
      'Keys that had other values at the last reload and wait for a restart.',
      () => reloads.waiting,
    ),
  ];
}
