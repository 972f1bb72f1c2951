/** The dashboard of a fleet, on a real Prometheus and on VictoriaMetrics with its vmalert, as config/prometheus has them. */
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { stringify } from 'yaml';
import { instanceOf, SyntheticFleet } from '../../fleet/sites/synthetic-fleet.ts';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { ROOT } from '../../support/docs/documents.ts';
import { queriesOf, readDashboard, substituted } from '../../support/grafana/dashboard.ts';
import { toUnusedPort } from '../../support/net.ts';
import { isAvailable } from '../../support/programs.ts';
import { PrometheusApi } from '../../support/prometheus/prometheus-api.ts';
import { FLEET_RULES_PATH, RULES_PATH, writeQuickRules } from '../../support/prometheus/rules-file.ts';
import { startServer } from '../../support/running-program.ts';
import { hasPrometheus, startPrometheus } from '../prometheus-server.ts';

const WAIT = { timeout: 90_000, interval: 500 };
const VARIABLES = { job: 'd2-sidecar', __range: '1m' };
const defer = deferTo(afterAll);
const queries = queriesOf(readDashboard('fleet')).map(({ name, expr }) => [name, substituted(expr, VARIABLES)]);
const hasVictoria = isAvailable('VictoriaMetrics', existsSync('/usr/bin/victoria-metrics'));

type Targets = ReturnType<SyntheticFleet['targets']>;

async function startVictoria(targets: Targets, rules: string): Promise<PrometheusApi> {
  const folder = temporaryFolder(defer);
  cpSync(path.join(ROOT, 'config/prometheus'), folder, { recursive: true });
  const at = (name: string) => path.join(folder, name);
  const [config, token] = [at('victoria-metrics.yml'), at('token')];
  writeFileSync(token, 'token');
  const text = readFileSync(config, 'utf8').replace('/etc/victoria-metrics/d2-sidecar.token', token);
  writeFileSync(config, text.replace('15s', '1s'));
  writeFileSync(at('targets/example.yml'), stringify(targets));
  const start = async (program: string, ...args: readonly string[]) => {
    const address = `127.0.0.1:${await toUnusedPort()}`;
    const file = `/usr/bin/${program}`;
    await startServer(defer, `http://${address}/health`, file, `-httpListenAddr=${address}`, ...args);
    return `http://${address}`;
  };
  // By default, queries see nothing of the last 30 s.
  const options = [`-promscrape.config=${config}`, `-storageDataPath=${at('data')}`, '-search.latencyOffset=1s'];
  const origin = await start('victoria-metrics', ...options);
  // Nobody takes the alerts.
  const urls = ['datasource', 'remoteWrite', 'notifier'].map((what) => `-${what}.url=${origin}`);
  await start('vmalert', `-rule=${rules}`, ...urls, '-disableAlertgroupLabel');
  return new PrometheusApi(origin);
}

describe.each([
  ['Prometheus', hasPrometheus, (targets: Targets, rules: string) => startPrometheus(defer, targets, 'token', rules)],
  ['VictoriaMetrics', hasVictoria, startVictoria],
])('the dashboard of a fleet, by %s', { timeout: 120_000 }, (_, isThere, start) => {
  describe.runIf(isThere)('with a sidecar in trouble, and one that is gone', () => {
    let store: PrometheusApi;

    const query = (title: string) => store.query(queries.find(([name]) => name === title)?.[1] ?? '');
    const instances = async (title: string) => (await query(title)).map(({ labels }) => labels.instance);

    beforeAll(async () => {
      const fleet = await SyntheticFleet.start(1_000);
      defer(() => fleet.stop());
      fleet.plantFault('small', 7);
      const rules = writeQuickRules(temporaryFolder(defer), RULES_PATH, FLEET_RULES_PATH);
      store = await start(fleet.targets({ small: 20, full: 2 }), rules);
      await vi.waitUntil(async () => (await store.value('sum(up{job="d2-sidecar"})')) === 22, WAIT);
      fleet.remove('full', 1);
    }, 90_000);

    it('has data for every query', async () => {
      const all = queries.map(([, expr = '']) => expr);
      expect(all.length).toBeGreaterThan(20);
      await expect.poll(() => store.withoutData(all), WAIT).toEqual([]);
    });

    it('shows the site with trouble, the sidecar, and its alert', async () => {
      await expect
        .poll(async () => (await query('Verdicts by site A')).map(({ labels, value }) => [labels.site, value]), WAIT)
        .toEqual([['small-3', 4]]);
      expect(await instances('Sidecars by verdict A')).toEqual([instanceOf('small', 7)]);
      const pending = () => store.query('ALERTS{alertname="D2UpstreamDown"}');
      await expect
        .poll(async () => (await pending()).map(({ labels }) => labels.instance), WAIT)
        .toEqual([instanceOf('small', 7)]);
    });

    it('shows the sidecar that is gone', async () => {
      await expect.poll(() => instances('Gone for now A'), WAIT).toEqual([instanceOf('full', 1)]);
      expect((await query('Gone A')).map(({ value }) => value)).toEqual([1]);
    });
  });
});
