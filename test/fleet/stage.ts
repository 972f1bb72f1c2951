/** One stage: so many sidecars, scraped by one store for some minutes. */
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Processes, progress } from '../bench/load/processes.ts';
import { queriesOf, readDashboard, substituted } from '../support/grafana/dashboard.ts';
import type { OrderedProcess } from '../support/load/orders.ts';
import { cpuUsOf, residentBytes } from '../support/load/proc.ts';
import { instanceOf, type ScrapeReading, type TargetGroup } from './sites/synthetic-fleet.ts';
import type { Size } from './sites/synthetic-site.ts';
import { type GroupReading, Store, type StoreName } from './stores.ts';

export interface StageParts {
  readonly store: StoreName;
  readonly size: Size;
  readonly count: number;
  readonly minutes: number;
  readonly intervalS: number;
}

/** Bundled, this file is one folder below the project's. */
const ROOT = path.join(import.meta.dirname, '..');
const RULE_FILES = ['rules', 'fleet'].map((name) => path.join(ROOT, `config/prometheus/${name}.yml`));
const LOOK_MS = 5_000;
const JOB = 'job="d2-sidecar"';

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** What was measured, and what is wrong with it. */
export async function runStage(parts: StageParts, sites: OrderedProcess, processes: Processes, folder: string) {
  const { store: name, size, count, minutes, intervalS } = parts;
  const targets = await sites.order<readonly TargetGroup[]>('targets', { small: 0, full: 0, [size]: count });
  const series = count * (await sites.order<number>('series', size));
  const own = path.join(folder, 'stage');
  mkdirSync(own);
  await sites.order('forget');
  const store = await Store.start({ name, processes, folder: own, targets, intervalS, ruleFiles: RULE_FILES });
  try {
    // All have been scraped once.
    await sleep(intervalS * 1_000 + 1_000);
    // On a busy machine, Prometheus may still open its database.
    while (Number.isNaN(await store.samples())) await sleep(100);
    await sites.order('takeScrapes');
    const begin = await readCounters(store, sites);
    const groups = new Map<string, GroupReading>();
    let peakBytes = 0;
    while (performance.now() - begin.ms < minutes * 60_000) {
      await sleep(LOOK_MS);
      peakBytes = Math.max(peakBytes, sum(store.pids.map((pid) => residentBytes(pid) ?? 0)));
      for (const group of await store.groups()) {
        if (group.seconds >= (groups.get(group.name)?.seconds ?? 0)) groups.set(group.name, group);
      }
      progress(`${Math.round((performance.now() - begin.ms) / 1_000)} of ${minutes * 60} s`);
    }
    const end = await readCounters(store, sites);
    const { scrapes, late } = await sites.order<ScrapeReading>('takeScrapes');
    const seconds = (end.ms - begin.ms) / 1_000;
    const window = `[${Math.floor(seconds)}s]`;
    const failed = await store.value(`sum(count_over_time(up{${JOB}}${window}) - sum_over_time(up{${JOB}}${window}))`);
    const missed = await store.missedEvaluations();
    const slow = [...groups.values()].filter((group) => group.seconds > group.intervalS);
    const faults = [
      ...(failed === 0 ? [] : [`${failed} scrapes failed`]),
      ...(late === 0 ? [] : [`${late} scrapes were late`]),
      ...slow.map((group) => `the rules of ${group.name} took longer than their interval`),
      ...(missed === 0 ? [] : [`${missed} evaluations of rules were missed`]),
    ];
    const row = {
      ...{ store: name, sidecars: `${count} ${size}`, minutes, series, MiB: Math.round(peakBytes / 2 ** 20) },
      'samples each second': Math.round((end.samples - begin.samples) / seconds),
      cores: (end.cpuUs - begin.cpuUs) / 1e6 / seconds,
      'cores of the sidecars': (end.ownCpuUs - begin.ownCpuUs) / 1e6 / seconds,
      ...{ scrapes, failed, late, missed },
      'longest scrape, s': await store.value(`max(max_over_time(scrape_duration_seconds{${JOB}}${window}))`),
      ...Object.fromEntries([...groups.values()].map((group) => [`rules ${group.name}, s`, group.seconds])),
      'slowest query, s': await slowestQuery(store, size, minutes),
    };
    return { row, faults };
  } finally {
    for (const child of [...store.children].reverse()) await processes.stop(child, 'SIGTERM', 30_000);
    rmSync(own, { recursive: true, force: true });
  }
}

async function readCounters(store: Store, sites: OrderedProcess) {
  const [samples, ownCpuUs] = [await store.samples(), await sites.order<number>('cpuUs')];
  return { ms: performance.now(), samples, ownCpuUs, cpuUs: sum(store.pids.map(cpuUsOf)) };
}

/** Each query of the dashboards once, one after the other, over the minutes of the stage. That of a site: of one sidecar. */
async function slowestQuery(store: Store, size: Size, minutes: number): Promise<number> {
  const variables = {
    ...{ job: 'd2-sidecar', instance: instanceOf(size, 0), application: '.+' },
    ...{ __rate_interval: '1m', __range: `${minutes}m` },
  };
  let slowest = 0;
  const dashboards = (['fleet', 'd2-sidecar'] as const).map((name) => readDashboard(name, ROOT));
  for (const { expr, isInstant } of dashboards.flatMap((dashboard) => queriesOf(dashboard))) {
    const seconds = await store.timeOf(substituted(expr, variables), isInstant ? undefined : minutes * 60);
    slowest = Math.max(slowest, seconds);
  }
  return slowest;
}
