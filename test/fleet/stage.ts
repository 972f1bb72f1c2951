/** One stage: so many sidecars, scraped by one store for some minutes. */
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Processes, progress } from '../bench/load/processes.ts';
import { queriesOf, substituted } from '../support/grafana/dashboard.ts';
import type { Dashboard } from '../support/grafana/dashboard-schema.ts';
import type { OrderedProcess } from '../support/load/orders.ts';
import { cpuUsOf, residentBytes } from '../support/load/proc.ts';
import { type Counts, instanceOf, type ScrapeReading, type TargetGroup } from './sites/synthetic-fleet.ts';
import type { Size } from './sites/synthetic-site.ts';
import { type GroupReading, Store, type StoreName } from './stores.ts';

export interface StageParts {
  readonly store: StoreName;
  readonly size: Size;
  readonly count: number;
  readonly minutes: number;
  readonly intervalS: number;
  readonly ruleFiles: readonly string[];
  /** By name. */
  readonly dashboards: Readonly<Record<'fleet' | 'site', Dashboard>>;
}

export interface QueryReading {
  readonly dashboard: string;
  readonly name: string;
  readonly seconds: number;
}

export interface StageReading extends Pick<StageParts, 'store' | 'size' | 'count' | 'minutes'> {
  readonly series: number;
  readonly samplesPerSecond: number;
  readonly scrapes: ScrapeReading;
  /** By `up`. */
  readonly failedScrapes: number;
  readonly longestScrapeS: number;
  readonly peakBytes: number;
  /** Cores in use: of the store, and of the process of the sidecars. */
  readonly cores: number;
  readonly ownCores: number;
  /** The longest evaluation of each group. */
  readonly groups: readonly GroupReading[];
  readonly missedEvaluations: number;
  readonly queries: readonly QueryReading[];
}

const LOOK_MS = 5_000;
const PROGRESS_MS = 30_000;
const JOB = 'job="d2-sidecar"';

export async function runStage(
  parts: StageParts,
  sites: OrderedProcess,
  processes: Processes,
  folder: string,
): Promise<StageReading> {
  const { store: name, size, count, minutes, intervalS } = parts;
  const title = `${name}: ${count} ${size}`;
  const counts: Counts = { small: 0, full: 0, [size]: count };
  const targets = await sites.order<readonly TargetGroup[]>('targets', counts);
  const series = (await sites.order<Readonly<Record<Size, number>>>('series'))[size];
  const own = path.join(folder, 'stage');
  mkdirSync(own);
  await sites.order('forget');
  const store = await Store.start({ name, processes, folder: own, targets, intervalS, ruleFiles: parts.ruleFiles });
  try {
    // All have been scraped once.
    await sleep(intervalS * 1_000 + 1_000);
    // On a busy machine, Prometheus may still open its database.
    while (Number.isNaN(await store.samples())) await sleep(100);
    await sites.order('takeScrapes');
    const begin = await readCounters(store, sites);
    const groups = new Map<string, GroupReading>();
    let peakBytes = 0;
    let shownMs = begin.ms;
    while (performance.now() - begin.ms < minutes * 60_000) {
      await sleep(LOOK_MS);
      peakBytes = Math.max(peakBytes, sum(store.pids.map((pid) => residentBytes(pid) ?? 0)));
      for (const group of await store.groups()) {
        if (group.seconds >= (groups.get(group.name)?.seconds ?? 0)) groups.set(group.name, group);
      }
      if (performance.now() - shownMs < PROGRESS_MS) continue;
      shownMs = performance.now();
      const seconds = Math.round((shownMs - begin.ms) / 1_000);
      const slowest = Math.max(0, ...[...groups.values()].map((group) => group.seconds));
      const memory = `${Math.round(peakBytes / 2 ** 20)} MiB`;
      progress(`[${title}] ${seconds} of ${minutes * 60} s, ${memory}, slowest rules ${slowest.toFixed(2)} s`);
    }
    const end = await readCounters(store, sites);
    const scrapes = await sites.order<ScrapeReading>('takeScrapes');
    const window = `${Math.floor((end.ms - begin.ms) / 1_000)}s`;
    const seconds = (end.ms - begin.ms) / 1_000;
    const failed = `sum(count_over_time(up{${JOB}}[${window}]) - sum_over_time(up{${JOB}}[${window}]))`;
    return {
      ...{ store: name, size, count, minutes, series: series * count, scrapes },
      samplesPerSecond: (end.samples - begin.samples) / seconds,
      failedScrapes: await store.value(failed),
      longestScrapeS: await store.value(`max(max_over_time(scrape_duration_seconds{${JOB}}[${window}]))`),
      ...{ peakBytes, groups: [...groups.values()] },
      cores: (end.cpuUs - begin.cpuUs) / 1e6 / seconds,
      ownCores: (end.ownCpuUs - begin.ownCpuUs) / 1e6 / seconds,
      missedEvaluations: await store.missedEvaluations(),
      queries: await timeQueries(store, parts),
    };
  } finally {
    for (const child of [...store.children].reverse()) await processes.stop(child, 'SIGTERM', 30_000);
    rmSync(own, { recursive: true, force: true });
  }
}

async function readCounters(store: Store, sites: OrderedProcess) {
  const [samples, ownCpuUs] = [await store.samples(), await sites.order<number>('cpuUs')];
  return { ms: performance.now(), samples, ownCpuUs, cpuUs: sum(store.pids.map(cpuUsOf)) };
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** Each query of the dashboards once, one after the other, over the minutes of the stage. That of a site: of one sidecar. */
async function timeQueries(
  store: Store,
  { size, minutes, dashboards }: Pick<StageParts, 'size' | 'minutes' | 'dashboards'>,
): Promise<readonly QueryReading[]> {
  const variables = {
    ...{ job: 'd2-sidecar', instance: instanceOf(size, 0), application: '.+' },
    ...{ __rate_interval: '1m', __range: `${minutes}m` },
  };
  const readings: QueryReading[] = [];
  for (const [dashboard, content] of Object.entries(dashboards)) {
    for (const { name, expr, isInstant } of queriesOf(content)) {
      const rangeS = isInstant ? undefined : minutes * 60;
      readings.push({ dashboard, name, seconds: await store.timeOf(substituted(expr, variables), rangeS) });
    }
  }
  return readings;
}
