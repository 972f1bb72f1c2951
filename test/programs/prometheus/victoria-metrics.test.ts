/** config/prometheus/victoria-metrics.yml, by Debian's VictoriaMetrics and its vmalert. Needs `victoria-metrics`. */
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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

const WAIT = { timeout: 90_000, interval: 500 };
const VARIABLES = { job: 'd2-sidecar', __range: '1m' };
const hasVictoria = isAvailable('VictoriaMetrics', existsSync('/usr/bin/victoria-metrics'));

describe.runIf(hasVictoria)('VictoriaMetrics', { timeout: 120_000 }, () => {
  const defer = deferTo(afterAll);
  let store: PrometheusApi;

  const start = (program: string, address: string, ...args: readonly string[]) =>
    startServer(defer, `http://${address}/health`, `/usr/bin/${program}`, `-httpListenAddr=${address}`, ...args);

  beforeAll(async () => {
    const fleet = await SyntheticFleet.start(1_000);
    defer(() => fleet.stop());
    fleet.plantFault('small', 3);
    fleet.remove('full', 1);
    const folder = temporaryFolder(defer);
    cpSync(path.join(ROOT, 'config/prometheus'), folder, { recursive: true });
    const at = (name: string) => path.join(folder, name);
    const [config, token] = [at('victoria-metrics.yml'), at('token')];
    writeFileSync(token, 'token');
    const text = readFileSync(config, 'utf8').replace('/etc/victoria-metrics/d2-sidecar.token', token);
    writeFileSync(config, text.replace('15s', '1s'));
    writeFileSync(at('targets/example.yml'), stringify(fleet.targets({ small: 10, full: 2 })));
    const address = `127.0.0.1:${await toUnusedPort()}`;
    const origin = `http://${address}`;
    // By default, queries see nothing of the last 30 s.
    const options = [`-promscrape.config=${config}`, `-storageDataPath=${at('data')}`, '-search.latencyOffset=1s'];
    await start('victoria-metrics', address, ...options);
    await start(
      ...(['vmalert', `127.0.0.1:${await toUnusedPort()}`] as const),
      `-rule=${writeQuickRules(folder, RULES_PATH, FLEET_RULES_PATH)}`,
      // Nobody takes the alerts.
      ...['datasource', 'remoteWrite', 'notifier'].map((what) => `-${what}.url=${origin}`),
      '-disableAlertgroupLabel',
    );
    store = new PrometheusApi(origin);
  }, 90_000);

  it('scrapes the targets of the files', async () => {
    await expect.poll(() => store.value('sum(up{job="d2-sidecar"})'), WAIT).toBe(11);
  });

  it('has data for every query of the dashboard of a fleet, by the recordings of vmalert', async () => {
    const queries = queriesOf(readDashboard('fleet')).map(({ expr }) => substituted(expr, VARIABLES));
    await expect.poll(() => store.withoutData(queries), WAIT).toEqual([]);
  });

  it('knows the alerts', async () => {
    const pending = async () => {
      const series = await store.query('ALERTS{alertname="D2UpstreamDown"}');
      return series.map(({ labels }) => labels.instance);
    };
    await expect.poll(pending, WAIT).toEqual([instanceOf('small', 3)]);
  });
});
