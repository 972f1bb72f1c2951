/** A real Prometheus of Debian's package `prometheus`, on its own port, with targets that the test chooses. */
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { stringify } from 'yaml';
import { type Defer, temporaryFolder } from '../support/deferred.ts';
import { toUnusedPort } from '../support/net.ts';
import { isAvailable } from '../support/programs.ts';
import { PrometheusApi } from '../support/prometheus/prometheus-api.ts';
import { startServer } from '../support/running-program.ts';

const PROMETHEUS = '/usr/bin/prometheus';
export const hasPrometheus = isAvailable('Prometheus', existsSync(PROMETHEUS) && existsSync('/usr/bin/promtool'));

interface Target {
  readonly targets: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

interface PrometheusOptions {
  /** Between two scrapes. Default: 1. */
  readonly intervalS?: number;
  /** The address that gets the alerts. */
  readonly alertmanager?: string;
  /** Further flags of the program. */
  readonly flags?: readonly string[];
}

/** Scrapes each target, by default `http://<target>/metrics` every second, with `token` as Bearer token. */
export async function startPrometheus(
  defer: Defer,
  targets: readonly string[] | readonly Target[],
  token: string,
  rulesFile: string,
  { intervalS = 1, alertmanager, flags = [] }: PrometheusOptions = {},
): Promise<PrometheusApi> {
  const folder = temporaryFolder(defer);
  const address = `127.0.0.1:${await toUnusedPort()}`;
  const config = path.join(folder, 'prometheus.yml');
  const groups = targets.map((target) => (typeof target === 'string' ? { targets: [target] } : target));
  const job = { job_name: 'd2-sidecar', authorization: { credentials: token }, static_configs: groups };
  const interval = `${intervalS}s`;
  const text = stringify({
    global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: '1s' },
    ...{ rule_files: [rulesFile], scrape_configs: [job] },
    alerting: alertmanager && { alertmanagers: [{ static_configs: [{ targets: [alertmanager] }] }] },
  });
  writeFileSync(config, text, { mode: 0o600 });
  const options = [`--config.file=${config}`, `--storage.tsdb.path=${folder}/data`, `--web.listen-address=${address}`];
  const ours = ['--log.level=warn', '--enable-feature=exemplar-storage'];
  await startServer(defer, `http://${address}/-/ready`, PROMETHEUS, ...options, ...ours, ...flags);
  return new PrometheusApi(`http://${address}`);
}
