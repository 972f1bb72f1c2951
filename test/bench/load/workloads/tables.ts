/** Workloads of full tables: their memory, and the effect of reading all of them on concurrent calls. */
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ADMIN_PATH } from '../answers.ts';
import { PROBED_SIDECAR, SAVING_SIDECAR, SIDECAR, stateFileIn } from '../peers/node-peers.ts';
import { figure, type Read, ratio, type Sample } from '../results.ts';
import type { Running } from '../rig.ts';
import { fewNames, fill, manyNames, manyObjects } from '../small-client.ts';
import type { Load } from '../wrk.ts';
import { CPU, column, P50, P99, P99_BEFORE, SIDECAR_NAME } from './columns.ts';
import { measureLoad, residentMb } from './measure-load.ts';
import { atMost, type Contestant, type Target, type Turn, toContestants, type Workload } from './workload.ts';

const WARM_UP_REQUESTS = 100_000;
const SAVES = 2;
const SAVES_TAKE_MS = 60_000;
const SAVE_LOOK_MS = 100;
const SCRAPE_EVERY_S = 5;
const FIRST_SCRAPE_MS = 1_000;

async function fillTables(port: number): Promise<void> {
  await fill(port, manyNames());
  await fill(port, manyObjects());
}

const MEMORY: Workload = {
  name: 'memory',
  title: 'Memory',
  how: 'A fresh process, 100,000 small RPCs by 10 users; then 10,000 sessions of 10 RPCs each out of 2,000, all made twice, and 10,000 objects. With state.file: the highest of two saves after that.',
  upstream: 'nginx',
  contestants: toContestants([SIDECAR, SAVING_SIDECAR]),
  isFresh: true,
  columns: [column('rssMb', 'MB after 100,000 requests'), column('fullMb', 'MB with full tables')],
  targets: [
    atMost(90, 'memory after 100,000 requests, MB', figure(SIDECAR_NAME, 'rssMb'), 1),
    atMost(
      300,
      'memory with 2,000 RPCs, 10,000 objects, 10,000 sessions of 10 RPCs each, MB',
      figure(SIDECAR_NAME, 'fullMb'),
      1,
    ),
    atMost(300, 'the same with state.file, MB', figure(SAVING_SIDECAR.name, 'fullMb'), 1),
  ],
  measure: async ({ contestant, running: { pid, spot } }) => {
    await fill(spot.port, fewNames(WARM_UP_REQUESTS));
    const rssMb = residentMb(pid);
    await fillTables(spot.port);
    const fullMb =
      contestant.peer === SAVING_SIDECAR ? await highestMbOfSaves(pid, stateFileIn(spot)) : residentMb(pid);
    return { rssMb, fullMb };
  },
};

/** Watches the file: reading metrics of full tables would add garbage of its own. */
async function highestMbOfSaves(pid: number, file: string): Promise<number> {
  const untilMs = performance.now() + SAVES_TAKE_MS;
  let highestMb = 0;
  let savedMs = await changedMs(file);
  for (let saves = 0; saves < SAVES; ) {
    if (performance.now() > untilMs) throw new Error('the state is not saved');
    await sleep(SAVE_LOOK_MS);
    highestMb = Math.max(highestMb, residentMb(pid));
    const nowMs = await changedMs(file);
    if (nowMs !== savedMs) saves += 1;
    savedMs = nowMs;
  }
  return highestMb;
}

async function changedMs(file: string): Promise<number> {
  return (await stat(file).catch(() => undefined))?.mtimeMs ?? 0;
}

export interface Scraped {
  readonly title: string;
  readonly path: string;
  readonly accept: string;
}

const NO_SCRAPE = 'no-scrape';

function scrapedJson(path: string): Scraped {
  return { title: `${path} (JSON)`, path: `${ADMIN_PATH}/${path}`, accept: 'application/json' };
}

export const PROMETHEUS: Scraped = {
  title: '/metrics (Prometheus)',
  path: '/metrics',
  accept: 'text/plain;version=0.0.4',
};

/** The answers that grow most with the tables. */
const SCRAPES: Readonly<Record<string, Scraped>> = {
  dropwizard: scrapedJson('metrics/d2'),
  sessions: scrapedJson('d2/sessions'),
  prometheus: PROMETHEUS,
};

function createContestant(name: string, title: string): Contestant {
  return { name, title, peer: PROBED_SIDECAR, processKey: 'sidecar' };
}

function createTargets([name, { title }]: readonly [string, Scraped]): Target[] {
  return [
    atMost(10, `scrape of ${title}: loop blocked at most, ms`, figure(name, 'blockedMs'), 1),
    atMost(1.2, `scrape of ${title}: p99 of relayed calls, to that before`, p99ToBefore(name)),
  ];
}

/** Both are measured in direct sequence: otherwise noise would exceed the effect of a scrape. */
function p99ToBefore(name: string): Read {
  return ratio(figure(name, 'p99Us'), figure(name, 'p99BeforeUs'));
}

const SCRAPE_LOAD: Load = { kind: 'rpc', connections: 100, thinkMs: 100, users: 10_000, names: 2_000 };

const SCRAPE: Workload = {
  name: 'scrape',
  title: 'Scrape of full tables',
  how:
    'The tables of the memory workload, and 1,000 small RPCs each second over all of them for as many times 5 s as twice the ' +
    'usual time has (once at least): first with nothing read ("before"), then with everything read after a second and every ' +
    '5 s. The line that reads nothing says what the machine does. "Blocked" is the longest that a timer of the event loop came ' +
    'late meanwhile.',
  upstream: 'nginx',
  contestants: [
    createContestant(NO_SCRAPE, 'no scrape'),
    ...Object.entries(SCRAPES).map(([name, { title }]) => createContestant(name, title)),
  ],
  columns: [
    column('blockedMs', 'blocked ms'),
    P50,
    P99,
    P99_BEFORE,
    { title: 'p99 to before', digits: 2, read: p99ToBefore },
    CPU,
    column('scrapeMs', 'scrape ms', 0),
  ],
  targets: Object.entries(SCRAPES).flatMap(createTargets),
  prepare: async ({ running }) => {
    await fillTables(running.spot.port);
    for (const scraped of Object.values(SCRAPES)) {
      // A missing figure is explained where it is measured.
      await scrape(running.spot.monitorPort, scraped).catch(() => undefined);
    }
  },
  measure: async (turn) => {
    // Whole intervals: a scrape within 4 s affects more calls than one every 5 s.
    const seconds = Math.max(1, Math.round((turn.seconds * 2) / SCRAPE_EVERY_S)) * SCRAPE_EVERY_S;
    const longer = { ...turn, seconds };
    const scraped = SCRAPES[turn.contestant.name];
    const { p99Us: p99BeforeUs } = await measureLoad(longer, SCRAPE_LOAD);
    const [sample, extra] = await Promise.all([measureLoad(longer, SCRAPE_LOAD), watch(longer, scraped)]);
    return { ...sample, ...extra, p99BeforeUs };
  },
};

/** The longest scrape while the load runs, and the longest blocking of the loop; without `scraped`, of the load alone. */
async function watch({ running, seconds }: Turn, scraped: Scraped | undefined): Promise<Sample> {
  const endMs = performance.now() + seconds * 1000;
  await sleep(FIRST_SCRAPE_MS);
  let sample: Sample = {};
  for (let nextMs = performance.now(); nextMs < endMs; nextMs += SCRAPE_EVERY_S * 1000) {
    await sleep(Math.max(0, nextMs - performance.now()));
    running.child.send('reset');
    if (scraped === undefined) await sleep(FIRST_SCRAPE_MS);
    else {
      const scrapeMs = await scrape(running.spot.monitorPort, scraped);
      sample = { ...sample, scrapeMs: Math.max(sample.scrapeMs ?? 0, scrapeMs) };
    }
    const { blockedMs } = await readLoop(running);
    sample = { ...sample, blockedMs: Math.max(sample.blockedMs ?? 0, blockedMs) };
  }
  return sample;
}

/** Since the last `reset`. */
export async function readLoop({ child }: Running): Promise<{ readonly blockedMs: number; readonly activeMs: number }> {
  const answered = once(child, 'message', { signal: AbortSignal.timeout(10_000) });
  child.send('read');
  const [figures] = (await answered) as [{ blockedMs: number; activeMs: number }];
  return figures;
}

/** Reads and discards: the harness shares its core with the upstream. Returns the milliseconds; throws for any status but 200. */
export async function scrape(port: number, { path, accept }: Scraped): Promise<number> {
  const startedMs = performance.now();
  const request = http.get({ port, host: '127.0.0.1', path, headers: { accept }, agent: false });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  await once(response.resume(), 'end');
  if (response.statusCode !== 200) throw new Error(`${path} answers ${response.statusCode}`);
  return performance.now() - startedMs;
}

export const TABLES: readonly Workload[] = [MEMORY, SCRAPE];
