/** config/prometheus/victoria-metrics.yml, by Debian's VictoriaMetrics and its vmalert. Needs `victoria-metrics`. */
import { spawn } from 'node:child_process';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { instanceOf, SyntheticFleet } from '../../fleet/sites/synthetic-fleet.ts';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { ROOT } from '../../support/docs/documents.ts';
import { queriesOf, readDashboard, substituted } from '../../support/grafana/dashboard.ts';
import { toUnusedPort } from '../../support/net.ts';
import { isAvailable } from '../../support/programs.ts';
import type { RuleGroup } from '../../support/prometheus/rules-file.ts';
import { exitOf, stopProcess } from '../../support/sidecar-process.ts';
import { PrometheusServer } from '../prometheus-server.ts';

const WAIT = { timeout: 90_000, interval: 500 };
const VARIABLES = { job: 'd2-sidecar', __range: '1m' };
const hasVictoria = isAvailable('VictoriaMetrics', existsSync('/usr/bin/victoria-metrics'));

describe.runIf(hasVictoria)('VictoriaMetrics', { timeout: 120_000 }, () => {
  const defer = deferTo(afterAll);
  let store: PrometheusServer;

  function start(program: string, ...args: readonly string[]): void {
    const child = spawn(`/usr/bin/${program}`, args, { stdio: 'ignore' });
    const exited = exitOf(child);
    defer(() => stopProcess(child, exited, 'SIGTERM'));
  }

  beforeAll(async () => {
    const fleet = await SyntheticFleet.start(1_000);
    defer(() => fleet.stop());
    fleet.plantFault('small', 3);
    fleet.remove('full', 1);
    const folder = temporaryFolder(defer);
    cpSync(path.join(ROOT, 'config/prometheus'), folder, { recursive: true });
    const at = (name: string) => path.join(folder, name);
    const change = (name: string, edit: (text: string) => string) =>
      writeFileSync(at(name), edit(readFileSync(at(name), 'utf8')));
    writeFileSync(at('token'), 'token');
    change('victoria-metrics.yml', (text) =>
      text.replace('/etc/victoria-metrics/d2-sidecar.token', at('token')).replace('15s', '1s'),
    );
    change('targets/example.yml', () => stringify(fleet.targets({ small: 10, full: 2 })));
    for (const name of ['rules.yml', 'fleet.yml']) {
      change(name, (text) => {
        const { groups } = parse(text) as { groups: readonly RuleGroup[] };
        return stringify({ groups: groups.map((group) => ({ ...group, interval: '1s' })) });
      });
    }
    const address = `127.0.0.1:${await toUnusedPort()}`;
    const alerts = `127.0.0.1:${await toUnusedPort()}`;
    // By default, queries see nothing of the last 30 s.
    start(
      'victoria-metrics',
      ...[`-promscrape.config=${at('victoria-metrics.yml')}`, `-storageDataPath=${at('data')}`],
      ...[`-httpListenAddr=${address}`, '-search.latencyOffset=1s'],
    );
    await vi.waitUntil(
      () =>
        fetch(`http://${address}/health`).then(
          ({ ok }) => ok,
          () => false,
        ),
      WAIT,
    );
    start(
      'vmalert',
      ...[`-rule=${at('rules.yml')}`, `-rule=${at('fleet.yml')}`, `-httpListenAddr=${alerts}`],
      ...[`-datasource.url=http://${address}`, `-remoteWrite.url=http://${address}`],
      // Nobody takes the alerts.
      ...[`-notifier.url=http://${address}`, '-disableAlertgroupLabel'],
    );
    store = new PrometheusServer(`http://${address}`);
  }, 90_000);

  it('scrapes the targets of the files', async () => {
    await expect.poll(() => store.value('sum(up{job="d2-sidecar"})'), WAIT).toBe(11);
  });

  it('has data for every query of the dashboard of a fleet, by the recordings of vmalert', async () => {
    const queries = queriesOf(readDashboard('fleet')).map(
      ({ name, expr }) => [name, substituted(expr, VARIABLES)] as const,
    );
    const withoutData = async () => {
      const answers = await Promise.all(queries.map(([, expr]) => store.query(expr)));
      return queries.filter((_, at) => !answers[at]?.some(({ value }) => Number.isFinite(value))).map(([name]) => name);
    };
    await expect.poll(withoutData, WAIT).toEqual([]);
  });

  it('knows the alerts', async () => {
    const pending = async () => {
      const series = await store.query('ALERTS{alertname="D2UpstreamDown"}');
      return series.map(({ labels }) => labels.instance);
    };
    await expect.poll(pending, WAIT).toEqual([instanceOf('small', 3)]);
  });
});
