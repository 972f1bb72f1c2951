/** A real Prometheus of Debian's package `prometheus`, on its own port, with targets that the test chooses. */
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { vi } from 'vitest';
import { stringify } from 'yaml';
import { type Defer, temporaryFolder } from '../support/deferred.ts';
import { collect } from '../support/install/run.ts';
import { toUnusedPort } from '../support/net.ts';
import { isAvailable } from '../support/programs.ts';
import { exitOf, stopProcess } from '../support/sidecar-process.ts';

const PROMETHEUS = '/usr/bin/prometheus';
const WAIT = { timeout: 30_000, interval: 50 };
export const hasPrometheus = isAvailable('Prometheus', existsSync(PROMETHEUS) && existsSync('/usr/bin/promtool'));

interface EvaluatedRule {
  readonly name: string;
  readonly health: 'ok' | 'err' | 'unknown';
  readonly state?: 'inactive' | 'pending' | 'firing';
}

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
): Promise<PrometheusServer> {
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
  const child = spawn(PROMETHEUS, [...options, ...ours, ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
  const exited = exitOf(child);
  defer(() => stopProcess(child, exited, 'SIGTERM'));
  const output = collect(child.stderr);
  const isReady = () =>
    fetch(`http://${address}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  await vi.waitUntil(isReady, WAIT).catch(() => Promise.reject(new Error(`Prometheus is not ready: ${output()}`)));
  return new PrometheusServer(`http://${address}`);
}

export class PrometheusServer {
  readonly #api: string;
  readonly origin: string;

  constructor(origin: string) {
    this.origin = origin;
    this.#api = `${origin}/api/v1`;
  }

  async #read<Data>(target: string): Promise<Data> {
    const answer = (await (await fetch(`${this.#api}/${target}`)).json()) as { error?: string; data: Data };
    if (answer.error !== undefined) throw new Error(`${target}: ${answer.error}`);
    return answer.data;
  }

  async query(promql: string) {
    type Series = { readonly metric: Record<string, string>; readonly value: readonly [number, string] };
    const { result } = await this.#read<{ result: Series[] }>(`query?query=${encodeURIComponent(promql)}`);
    return result.map(({ metric: labels, value: [, value] }) => ({ labels, value: Number(value) }));
  }

  async value(promql: string): Promise<number> {
    const [first, ...others] = await this.query(promql);
    return first === undefined || others.length > 0 ? Number.NaN : first.value;
  }

  /** The trace ids of the exemplars that it has stored. */
  async traceIds(promql: string): Promise<readonly string[]> {
    const series = await this.#read<readonly { exemplars: readonly { labels: Record<string, string> }[] }[]>(
      `query_exemplars?query=${encodeURIComponent(promql)}`,
    );
    return series.flatMap(({ exemplars }) => exemplars.map(({ labels }) => labels.trace_id ?? ''));
  }

  /** All values of a label, e.g. `job`, among the series of `match`. */
  labelValues(label: string, match: string): Promise<readonly string[]> {
    return this.#read(`label/${label}/values?match[]=${encodeURIComponent(match)}`);
  }

  async rules(): Promise<readonly EvaluatedRule[]> {
    const { groups } = await this.#read<{ groups: readonly { rules: readonly EvaluatedRule[] }[] }>('rules');
    return groups.flatMap(({ rules }) => rules);
  }

  async typeOf(family: string): Promise<string | undefined> {
    const families = await this.#read<Record<string, readonly { type: string }[]>>(`metadata?metric=${family}`);
    return families[family]?.[0]?.type;
  }

  async lastError(): Promise<string> {
    const { activeTargets } = await this.#read<{ activeTargets: readonly { lastError: string }[] }>('targets');
    return activeTargets[0]?.lastError ?? 'no target';
  }
}
