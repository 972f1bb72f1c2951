/** Prometheus, and VictoriaMetrics with its vmalert, of Debian's packages, with targets from a file. */
import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { stringify } from 'yaml';
import { freePorts, untilListening } from '../bench/load/ports.ts';
import { hasEnded, type Processes } from '../bench/load/processes.ts';
import { PrometheusApi } from '../support/prometheus/prometheus-api.ts';
import type { TargetGroup } from './sites/synthetic-fleet.ts';

export const STORES = ['prometheus', 'victoria'] as const;

export type StoreName = (typeof STORES)[number];

interface StoreParts {
  readonly name: StoreName;
  readonly processes: Processes;
  readonly folder: string;
  readonly targets: readonly TargetGroup[];
  readonly intervalS: number;
  readonly ruleFiles: readonly string[];
}

/** What each counts the stored samples by. */
const SAMPLES = {
  prometheus: /^prometheus_tsdb_head_samples_appended_total(?:\{type="float"\})? (\S+)$/m,
  victoria: /^vm_rows_inserted_total\{type="promscrape"\} (\S+)$/m,
};

export interface GroupReading {
  readonly name: string;
  readonly intervalS: number;
  readonly seconds: number;
}

/** Both answer the same queries at the same paths. */
export class Store extends PrometheusApi {
  readonly #name: StoreName;
  /** The store; of VictoriaMetrics also vmalert, which evaluates the rules. */
  readonly children: readonly ChildProcess[];
  readonly #ofRules: string;

  private constructor(name: StoreName, children: readonly ChildProcess[], origin: string, ofRules = origin) {
    super(origin);
    this.#name = name;
    this.children = children;
    this.#ofRules = ofRules;
  }

  static async start({ name, processes, folder, targets, intervalS, ruleFiles }: StoreParts): Promise<Store> {
    const [address = '', ofRules = ''] = (await freePorts(2)).map((port) => `127.0.0.1:${port}`);
    const at = (file: string) => path.join(folder, file);
    writeFileSync(at('targets.json'), JSON.stringify(targets));
    const interval = `${intervalS}s`;
    const config = {
      global: { scrape_interval: interval, scrape_timeout: interval },
      ...(name === 'prometheus' ? { rule_files: ruleFiles } : {}),
      scrape_configs: [{ job_name: 'd2-sidecar', file_sd_configs: [{ files: [at('targets.json')] }] }],
    };
    writeFileSync(at('scrape.yml'), stringify(config));
    const run = async (file: string, listens: string, ...args: readonly string[]) => {
      const child = processes.start({ file, args });
      const fail = () => Promise.reject(new Error(`${file} does not start: ${processes.outputOf(child)}`));
      await untilListening(Number(listens.split(':')[1]), () => hasEnded(child)).catch(fail);
      return child;
    };
    const origin = `http://${address}`;
    if (name === 'prometheus') {
      const files = [`--config.file=${at('scrape.yml')}`, `--storage.tsdb.path=${at('prometheus')}`];
      const child = await run('prometheus', address, ...files, `--web.listen-address=${address}`, '--log.level=warn');
      return new Store(name, [child], origin);
    }
    const files = [`-promscrape.config=${at('scrape.yml')}`, `-storageDataPath=${at('victoria')}`];
    const store = await run('victoria-metrics', address, ...files, `-httpListenAddr=${address}`, '-loggerLevel=WARN');
    // Nobody takes the alerts.
    const others = ['datasource', 'remoteWrite', 'notifier'].map((of) => `-${of}.url=${origin}`);
    const rules = [...ruleFiles.map((file) => `-rule=${file}`), '-disableAlertgroupLabel', '-loggerLevel=WARN'];
    const vmalert = await run('vmalert', ofRules, `-httpListenAddr=${ofRules}`, ...others, ...rules);
    return new Store(name, [store, vmalert], origin, `http://${ofRules}`);
  }

  get pids(): readonly number[] {
    return this.children.map(({ pid }) => pid as number);
  }

  async samples(): Promise<number> {
    return Number(SAMPLES[this.#name].exec(await this.#text('/metrics'))?.[1]);
  }

  /** How long a query takes, in seconds: now, or over the last `rangeS` as Grafana asks. */
  async timeOf(promql: string, rangeS: number | undefined): Promise<number> {
    const query = `query=${encodeURIComponent(promql)}`;
    const end = Math.floor(Date.now() / 1_000);
    const startMs = performance.now();
    if (rangeS === undefined) await this.read(`query?${query}`);
    else await this.read(`query_range?${query}&start=${end - rangeS}&end=${end}&step=15`);
    return (performance.now() - startMs) / 1_000;
  }

  async groups(): Promise<readonly GroupReading[]> {
    if (this.#name === 'prometheus') {
      const groups = await this.ruleGroups();
      return groups.map(({ name, interval: intervalS, evaluationTime: seconds }) => ({ name, intervalS, seconds }));
    }
    // The longest evaluations of the last minutes.
    const lines = await this.#rulesMetric('vmalert_iteration_(interval|duration)_seconds', '(?:,quantile="1")?');
    const groups = new Map<string, { name: string; intervalS: number; seconds: number }>();
    for (const [, kind, name = '', value] of lines) {
      const group = groups.get(name) ?? { name, intervalS: 0, seconds: 0 };
      groups.set(name, { ...group, [kind === 'interval' ? 'intervalS' : 'seconds']: Number(value) });
    }
    return [...groups.values()];
  }

  async missedEvaluations(): Promise<number> {
    const name = { prometheus: 'prometheus_rule_group_iterations_(missed)', victoria: 'vmalert_iteration_(missed)' };
    const lines = await this.#rulesMetric(`${name[this.#name]}_total`);
    return lines.reduce((sum, [, , , value]) => sum + Number(value), 0);
  }

  /** The lines of a metric that matches, with a group of it, the label of the group of rules, and the value. */
  async #rulesMetric(pattern: string, more = ''): Promise<readonly RegExpExecArray[]> {
    const text = await this.#text('/metrics', this.#ofRules);
    const line = new RegExp(`^${pattern}\\{(?:rule_)?group="([^"]*)"(?:, ?file="[^"]*")?${more}\\} (\\S+)$`, 'gm');
    return [...text.matchAll(line)];
  }

  async #text(target: string, origin = this.origin): Promise<string> {
    return (await fetch(`${origin}${target}`)).text();
  }
}
