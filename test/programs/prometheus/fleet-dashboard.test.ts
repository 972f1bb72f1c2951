/** The dashboard of a fleet, on a real Prometheus that scrapes synthetic sidecars. Needs `prometheus`. */

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { instanceOf, SyntheticFleet } from '../../fleet/sites/synthetic-fleet.ts';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { queriesOf, readDashboard, substituted } from '../../support/grafana/dashboard.ts';
import type { PrometheusApi } from '../../support/prometheus/prometheus-api.ts';
import { FLEET_RULES_PATH, RULES_PATH, writeQuickRules } from '../../support/prometheus/rules-file.ts';
import { hasPrometheus, startPrometheus } from '../prometheus-server.ts';

const WAIT = { timeout: 60_000, interval: 500 };
const VARIABLES = { job: 'd2-sidecar', __range: '1m' };
const COUNTS = { small: 20, full: 2 };

describe.runIf(hasPrometheus)('the dashboard of a fleet', { timeout: 90_000 }, () => {
  const defer = deferTo(afterAll);
  const queries = queriesOf(readDashboard('fleet')).map(({ name, expr }) => [name, substituted(expr, VARIABLES)]);
  let prometheus: PrometheusApi;

  const query = (title: string) => prometheus.query(queries.find(([name]) => name === title)?.[1] ?? '');
  const instances = async (title: string) => (await query(title)).map(({ labels }) => labels.instance);

  beforeAll(async () => {
    const fleet = await SyntheticFleet.start(1_000);
    defer(() => fleet.stop());
    fleet.plantFault('small', 7);
    const rules = writeQuickRules(temporaryFolder(defer), RULES_PATH, FLEET_RULES_PATH);
    prometheus = await startPrometheus(defer, fleet.targets(COUNTS), 'token', rules);
    await vi.waitUntil(async () => (await prometheus.value('sum(up)')) === 22, WAIT);
    fleet.remove('full', 1);
  }, 90_000);

  it('has data for every query', async () => {
    const all = queries.map(([, expr = '']) => expr);
    expect(all.length).toBeGreaterThan(20);
    await expect.poll(() => prometheus.withoutData(all), WAIT).toEqual([]);
  });

  it('shows the site with trouble, and the sidecar', async () => {
    await expect
      .poll(async () => (await query('Verdicts by site A')).map(({ labels, value }) => [labels.site, value]), WAIT)
      .toEqual([['small-3', 4]]);
    expect(await instances('Sidecars by verdict A')).toEqual([instanceOf('small', 7)]);
  });

  it('shows the sidecar that is gone', async () => {
    await expect.poll(() => instances('Gone for now A'), WAIT).toEqual([instanceOf('full', 1)]);
    expect((await query('Gone A')).map(({ value }) => value)).toEqual([1]);
  });

  it('counts the sidecars of each version', async () => {
    const versions = await query('Versions and builds A');
    expect(versions.map(({ labels }) => labels.version).sort()).toEqual(['0.1.0', '0.1.1']);
  });
});
