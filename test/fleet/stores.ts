/** Prometheus and VictoriaMetrics of Debian's packages, with targets from a file. */
import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { stringify } from 'yaml';
import { freePorts, untilListening } from '../bench/load/ports.ts';
import { hasEnded, type Processes } from '../bench/load/processes.ts';
import type { TargetGroup } from './sites/synthetic-fleet.ts';

export const STORES = ['prometheus', 'victoria'] as const;

export type StoreName = (typeof STORES)[number];

interface StoreParts {
  readonly name: StoreName;
  readonly processes: Processes;
  readonly folder: string;
  readonly targets: readonly TargetGroup[];
  readonly intervalS: number;
  /** Only Prometheus evaluates them. */
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
export class Store {
  readonly name: StoreName;
  readonly child: ChildProcess;
  readonly #origin: string;

  private constructor(name: StoreName, child: ChildProcess, port: number) {
    this.name = name;
    this.child = child;
    this.#origin = `http://127.0.0.1:${port}`;
  }

  static async start({ name, processes, folder, targets, intervalS, ruleFiles }: StoreParts): Promise<Store> {
    const [port = 0] = await freePorts(1);
    const at = (file: string) => path.join(folder, file);
    writeFileSync(at('targets.json'), JSON.stringify(targets));
    const interval = `${intervalS}s`;
    const config = {
      global: { scrape_interval: interval, scrape_timeout: interval },
      ...(name === 'prometheus' ? { rule_files: ruleFiles } : {}),
      scrape_configs: [{ job_name: 'd2-sidecar', file_sd_configs: [{ files: [at('targets.json')] }] }],
    };
    writeFileSync(at('scrape.yml'), stringify(config));
    const address = `127.0.0.1:${port}`;
    const command = {
      prometheus: {
        file: 'prometheus',
        args: [
          ...[`--config.file=${at('scrape.yml')}`, `--storage.tsdb.path=${at('prometheus')}`],
          ...[`--web.listen-address=${address}`, '--log.level=warn'],
        ],
      },
      victoria: {
        file: 'victoria-metrics',
        args: [
          ...[`-promscrape.config=${at('scrape.yml')}`, `-storageDataPath=${at('victoria')}`],
          ...[`-httpListenAddr=${address}`, '-loggerLevel=WARN'],
        ],
      },
    }[name];
    const child = processes.start(command);
    await untilListening(port, () => hasEnded(child)).catch(() =>
      Promise.reject(new Error(`${command.file} does not start: ${processes.outputOf(child)}`)),
    );
    return new Store(name, child, port);
  }

  get pid(): number {
    return this.child.pid as number;
  }

  async samples(): Promise<number> {
    return Number(SAMPLES[this.name].exec(await this.#text('/metrics'))?.[1]);
  }

  /** The first value of an instant query; NaN without one. */
  async value(promql: string): Promise<number> {
    type Result = { readonly result: readonly { readonly value: readonly [number, string] }[] };
    const { result } = await this.#read<Result>(`query?query=${encodeURIComponent(promql)}`);
    return Number(result[0]?.value[1]);
  }

  /** How long a query takes, in seconds: now, or over the last `rangeS` as Grafana asks. */
  async timeOf(promql: string, rangeS: number | undefined): Promise<number> {
    const query = `query=${encodeURIComponent(promql)}`;
    const end = Math.floor(Date.now() / 1_000);
    const startMs = performance.now();
    if (rangeS === undefined) await this.#read(`query?${query}`);
    else await this.#read(`query_range?${query}&start=${end - rangeS}&end=${end}&step=15`);
    return (performance.now() - startMs) / 1_000;
  }

  async groups(): Promise<readonly GroupReading[]> {
    if (this.name !== 'prometheus') return [];
    type Group = { readonly name: string; readonly interval: number; readonly evaluationTime: number };
    const { groups } = await this.#read<{ groups: readonly Group[] }>('rules');
    return groups.map(({ name, interval, evaluationTime }) => ({
      ...{ name, intervalS: interval, seconds: evaluationTime },
    }));
  }

  async missedEvaluations(): Promise<number> {
    const text = await this.#text('/metrics');
    const lines = [...text.matchAll(/^prometheus_rule_group_iterations_missed_total\{.*\} (\S+)$/gm)];
    return lines.reduce((sum, [, value]) => sum + Number(value), 0);
  }

  async #text(target: string): Promise<string> {
    return (await fetch(`${this.#origin}${target}`)).text();
  }

  async #read<Data>(target: string): Promise<Data> {
    const answer = JSON.parse(await this.#text(`/api/v1/${target}`)) as { error?: string; data: Data };
    if (answer.error !== undefined) throw new Error(`${this.name}: ${target}: ${answer.error}`);
    return answer.data;
  }
}
