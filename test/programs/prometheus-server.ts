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

/** Scrapes each target, `http://<target>/metrics`, every second, with `token` as Bearer token. */
export async function startPrometheus(
  defer: Defer,
  targets: readonly string[] | readonly Target[],
  token: string,
  rulesFile: string,
): Promise<PrometheusApi> {
  const folder = temporaryFolder(defer);
  const address = `127.0.0.1:${await toUnusedPort()}`;
  const config = path.join(folder, 'prometheus.yml');
  const groups = targets.map((target) => (typeof target === 'string' ? { targets: [target] } : target));
  const job = { job_name: 'd2-sidecar', authorization: { credentials: token }, static_configs: groups };
  const text = stringify({
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    ...{ rule_files: [rulesFile], scrape_configs: [job] },
  });
  writeFileSync(config, text, { mode: 0o600 });
  const options = [`--config.file=${config}`, `--storage.tsdb.path=${folder}/data`, `--web.listen-address=${address}`];
  const ours = ['--log.level=warn', '--enable-feature=exemplar-storage'];
  await startServer(defer, `http://${address}/-/ready`, PROMETHEUS, ...options, ...ours);
  return new PrometheusApi(`http://${address}`);
}
