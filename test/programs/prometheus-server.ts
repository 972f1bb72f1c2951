/** A real Prometheus of Debian's package `prometheus`, on a port of its own, with targets that the test chooses. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { exitOf, stopProcess } from '../support/sidecar-process.ts';
import { toUnusedPort } from '../support/wire/unused-port.ts';

const PROMETHEUS = '/usr/bin/prometheus';
const PROMTOOL = '/usr/bin/promtool';
const READY_TIMEOUT_MS = 30_000;

/** The result of one query: a value for each series. */
export interface QueriedSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface PrometheusServer {
  /** An instant query, e.g. `sum(d2_calls_total)`. */
  query(promql: string): Promise<readonly QueriedSeries[]>;
  /** The single value of a query; NaN for no series, or several. */
  value(promql: string): Promise<number>;
  /** All values of a label, e.g. `job`, among the series of `match`. */
  labelValues(label: string, match: string): Promise<readonly string[]>;
  /** Every rule with the health of its last evaluation; for alerts also `inactive`, `pending` or `firing`. */
  rules(): Promise<readonly EvaluatedRule[]>;
  /** The type that a family was scraped with, e.g. `counter`. */
  typeOf(family: string): Promise<string | undefined>;
  /** The error of the last scrape; empty if none. */
  lastError(): Promise<string>;
  stop(): Promise<void>;
}

export interface EvaluatedRule {
  readonly name: string;
  /** `unknown` before the first evaluation. */
  readonly health: 'ok' | 'err' | 'unknown';
  readonly lastError?: string;
  readonly state?: 'inactive' | 'pending' | 'firing';
}

export interface PrometheusOptions {
  /** More targets of the same kind. */
  readonly others?: readonly string[];
  /** File of rules to evaluate. */
  readonly rulesFile?: string;
}

export function isPrometheusInstalled(): boolean {
  return existsSync(PROMETHEUS) && existsSync(PROMTOOL);
}

/** The complaints of `promtool check metrics` about a text; empty if none. */
export function promtoolComplaints(text: string): string {
  const { status, stdout, stderr } = spawnSync(PROMTOOL, ['check', 'metrics'], { input: text, encoding: 'utf8' });
  return status === 0 ? `${stdout}${stderr}` : `exit code ${status}: ${stdout}${stderr}`;
}

/** Scrapes `http://<target>/metrics` each second; with `token` as Bearer token. */
export async function startPrometheus(
  target: string,
  token: string,
  options: PrometheusOptions = {},
): Promise<PrometheusServer> {
  const folder = mkdtempSync(path.join(tmpdir(), 'd2s-prometheus-'));
  const port = await toUnusedPort();
  writeFileSync(
    path.join(folder, 'prometheus.yml'),
    configText([target, ...(options.others ?? [])], token, options.rulesFile),
    {
      mode: 0o600,
    },
  );
  const child = spawn(
    PROMETHEUS,
    [
      `--config.file=${path.join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${path.join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const exited = exitOf(child);
  const stop = async () => {
    await stopProcess(child, exited, 'SIGTERM');
    rmSync(folder, { recursive: true, force: true });
  };
  const base = `http://127.0.0.1:${port}`;
  try {
    await untilReady(base, child);
  } catch (cause) {
    await stop();
    throw cause;
  }
  const query = (promql: string) => queried(base, promql);
  return {
    query,
    value: async (promql) => {
      const series = await query(promql);
      return series.length === 1 ? (series[0]?.value ?? Number.NaN) : Number.NaN;
    },
    labelValues: async (label, match) => {
      const answer = await fetch(`${base}/api/v1/label/${label}/values?match[]=${encodeURIComponent(match)}`);
      return ((await answer.json()) as { data: readonly string[] }).data;
    },
    rules: async () => {
      const answer = (await (await fetch(`${base}/api/v1/rules`)).json()) as Rules;
      return answer.data.groups.flatMap(({ rules }) => rules);
    },
    typeOf: async (family) => {
      const answer = (await (await fetch(`${base}/api/v1/metadata?metric=${family}`)).json()) as Metadata;
      return answer.data[family]?.[0]?.type;
    },
    lastError: async () => {
      const answer = (await (await fetch(`${base}/api/v1/targets`)).json()) as Targets;
      return answer.data.activeTargets[0]?.lastError ?? 'no target';
    },
    stop,
  };
}

interface Rules {
  readonly data: { readonly groups: readonly { readonly rules: readonly EvaluatedRule[] }[] };
}

interface Metadata {
  readonly data: Readonly<Record<string, readonly { readonly type: string }[]>>;
}

interface Targets {
  readonly data: { readonly activeTargets: readonly { readonly lastError: string }[] };
}

interface Answer {
  readonly status: string;
  readonly error?: string;
  readonly data: {
    readonly result: readonly { readonly metric: Record<string, string>; readonly value: readonly [number, string] }[];
  };
}

async function queried(base: string, promql: string): Promise<readonly QueriedSeries[]> {
  const response = await fetch(`${base}/api/v1/query?query=${encodeURIComponent(promql)}`);
  const answer = (await response.json()) as Answer;
  if (answer.status !== 'success') throw new Error(`${promql}: ${answer.error}`);
  return answer.data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
}

async function untilReady(base: string, child: ChildProcess): Promise<void> {
  let output = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  for (const until = performance.now() + READY_TIMEOUT_MS; performance.now() < until; ) {
    if (child.exitCode !== null) break;
    const response = await fetch(`${base}/-/ready`).catch(() => undefined);
    if (response?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`Prometheus did not become ready: ${output}`);
}

function configText(targets: readonly string[], token: string, rulesFile: string | undefined): string {
  return `global:
  scrape_interval: 1s
  scrape_timeout: 1s
  evaluation_interval: 1s
rule_files: [${rulesFile ?? ''}]
scrape_configs:
  - job_name: d2-sidecar
    authorization:
      credentials: ${token}
    static_configs:
      - targets: ${JSON.stringify(targets)}
`;
}
