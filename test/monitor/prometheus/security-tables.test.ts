import { beforeAll, describe, expect, it } from 'vitest';
import { initMetrics } from '../../../src/metrics/histogram-pool.ts';
import { createPlant, samplesOf } from './plant.ts';

beforeAll(initMetrics);

async function told(hasAccess = true): Promise<Record<string, number>> {
  const samples = samplesOf(await createPlant({ hasAccess }).text());
  return Object.fromEntries(
    [...samples].filter(([name]) => /_tls_|_files_|_config_|_monitor_(?:unv|forg|conn|over)/.test(name)),
  );
}

describe('what /metrics tells of security', () => {
  it('is all that was counted, by place; nothing of what is plain', async () => {
    expect(await told()).toEqual({
      d2_sidecar_monitor_connections: 4,
      d2_sidecar_monitor_overflows_total: 7,
      d2_sidecar_monitor_unverified_passwords_total: 5,
      d2_sidecar_monitor_forgotten_addresses_total: 6,
      'd2_sidecar_tls_handshakes_failed_total{listener="listen",reason="timeout"}': 2,
      'd2_sidecar_tls_handshakes_failed_total{listener="listen",reason="certificate"}': 3,
      'd2_sidecar_tls_handshakes_failed_total{listener="listen",reason="other"}': 4,
      'd2_sidecar_tls_unverified_clients_total{listener="listen"}': 1,
      d2_sidecar_upstream_tls_failures_total: 4,
      'd2_sidecar_tls_certificate_expiry_timestamp_seconds{section="listen.tls"}': 1_803_888_000,
      'd2_sidecar_files_replaced_total{section="listen.tls"}': 2,
      'd2_sidecar_files_replaced_total{section="upstream.tls"}': 2,
      'd2_sidecar_files_replaced_total{section="monitor.auth"}': 2,
      'd2_sidecar_files_unusable_total{section="listen.tls"}': 1,
      'd2_sidecar_files_unusable_total{section="upstream.tls"}': 1,
      'd2_sidecar_files_unusable_total{section="monitor.auth"}': 1,
      'd2_sidecar_config_reloads_total{result="applied"}': 3,
      'd2_sidecar_config_reloads_total{result="refused"}': 1,
      d2_sidecar_config_last_reload_successful: 0,
      d2_sidecar_config_last_reload_success_timestamp_seconds: 1_772_352_000.5,
      d2_sidecar_config_keys_waiting_for_restart: 2,
    });
  });

  it('has nothing of credentials where none was ever needed', async () => {
    const names = Object.keys(await told(false));
    expect(names.filter((name) => name.startsWith('d2_sidecar_monitor_'))).toEqual([
      'd2_sidecar_monitor_connections',
      'd2_sidecar_monitor_overflows_total',
    ]);
  });
});
