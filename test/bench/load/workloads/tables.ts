/** Workloads of full tables: their memory, and the effect of reading all of them on concurrent calls. */
import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ADMIN_PATH } from '../answers.ts';
import { PROBED_SIDECAR, SIDECAR } from '../peers/node-peers.ts';
import { figure, ratio, type Sample } from '../results.ts';
import { fewNames, fill, manyNames, manyObjects, rpcRequest } from '../small-client.ts';
import { medianOf } from '../statistics.ts';
import type { Load } from '../wrk.ts';
import type { Turn, Workload } from './workload.ts';
import { atMost, CPU, column, measureLoad, P50, P99, P99_BEFORE, residentMb, toContestants } from './workload.ts';

const WARM_UP_REQUESTS = 100_000;

async function fillTables(port: number): Promise<void> {
  await fill(port, manyNames());
  await fill(port, manyObjects());
}

const MEMORY: Workload = {
  name: 'memory',
  title: 'Memory',
  how: 'A fresh process, 100,000 small RPCs by 10 users; then 10,000 sessions of 10 RPCs each out of 2,000, all made twice, and 10,000 objects.',
  upstream: 'nginx',
  contestants: toContestants([SIDECAR]),
  isFresh: true,
  columns: [column('rssMb', 'MB after 100,000 requests'), column('fullMb', 'MB with full tables')],
  targets: [
    atMost(90, 'memory after 100,000 requests, MB', figure(SIDECAR.name, 'rssMb'), 1),
    atMost(
      300,
      'memory with 2,000 RPCs, 10,000 objects, 10,000 sessions of 10 RPCs each, MB',
      figure(SIDECAR.name, 'fullMb'),
      1,
    ),
  ],
  measure: async ({ running: { pid, spot } }) => {
    await fill(spot.port, fewNames(WARM_UP_REQUESTS));
    const rssMb = residentMb(pid);
    await fillTables(spot.port);
    return { rssMb, fullMb: residentMb(pid) };
  },
};

interface Scraped {
  readonly title: string;
  readonly path: string;
  readonly accept: string;
}

const scrapedJson = (path: string): Scraped => ({
  ...{ title: `${path} (JSON)`, path: `${ADMIN_PATH}/${path}`, accept: 'application/json' },
});

const PROMETHEUS = { title: '/metrics (Prometheus)', path: '/metrics', accept: 'text/plain;version=0.0.4' };

/** The answers that grow most with the tables. */
const SCRAPES: Readonly<Record<string, Scraped>> = {
  dropwizard: scrapedJson('metrics/d2'),
  sessions: scrapedJson('d2/sessions'),
  prometheus: PROMETHEUS,
};

/** Both are measured in direct sequence: otherwise noise would exceed the effect of a scrape. */
const p99ToBefore = (name: string) => ratio(figure(name, 'p99Ms'), figure(name, 'p99BeforeMs'));

const SCRAPE_EVERY_S = 5;
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
  contestants: Object.entries({ 'no-scrape': { title: 'no scrape' }, ...SCRAPES }).map(([name, { title }]) => ({
    ...{ name, title, peer: PROBED_SIDECAR, processKey: 'sidecar' },
  })),
  columns: [
    column('blockedMs', 'blocked ms'),
    ...[P50, P99, P99_BEFORE, { title: 'p99 to before', digits: 2, read: p99ToBefore }, CPU],
    column('scrapeMs', 'scrape ms', 0),
  ],
  targets: Object.entries(SCRAPES).flatMap(([name, { title }]) => [
    atMost(10, `scrape of ${title}: loop blocked at most, ms`, figure(name, 'blockedMs'), 1),
    atMost(1.2, `scrape of ${title}: p99 of relayed calls, to that before`, p99ToBefore(name)),
  ]),
  prepare: async ({ running }) => {
    await fillTables(running.spot.port);
    // A missing figure is explained where it is measured.
    for (const scraped of Object.values(SCRAPES))
      await scrape(running.spot.monitorPort, scraped).catch(() => undefined);
  },
  measure: async (turn) => {
    // Whole intervals: a scrape within 4 s affects more calls than one every 5 s.
    const seconds = Math.max(1, Math.round((turn.seconds * 2) / SCRAPE_EVERY_S)) * SCRAPE_EVERY_S;
    const scraped = SCRAPES[turn.contestant.name];
    const { sample, beside } = await measureBeside({ ...turn, seconds }, SCRAPE_LOAD, scraped, SCRAPE_EVERY_S);
    const most = (key: string) => Math.max(...beside.map((one) => one[key] ?? 0));
    return { ...sample, blockedMs: most('blockedMs'), ...(scraped && { scrapeMs: most('scrapeMs') }) };
  },
};

/** Calls alone, and then beside scrapes, the first after a second; what the scrapes took. */
async function measureBeside(turn: Turn, load: Load, scraped: Scraped | undefined, everyS: number) {
  const { p99Ms: p99BeforeMs } = await measureLoad(turn, load);
  const [sample, beside] = await Promise.all([measureLoad(turn, load), scrapeBeside(turn, scraped, everyS)]);
  return { sample: { ...sample, p99BeforeMs }, beside };
}

async function scrapeBeside(turn: Turn, scraped: Scraped | undefined, everyS: number): Promise<Sample[]> {
  const endMs = performance.now() + turn.seconds * 1_000;
  const all: Sample[] = [];
  for (let nextMs = performance.now() + 1_000; nextMs < endMs; nextMs += everyS * 1_000) {
    await sleep(Math.max(0, nextMs - performance.now()));
    all.push(await probe(turn, scraped));
  }
  return all;
}

/** A scrape, with what the loop did meanwhile; without `scraped`, a second of the load alone. */
async function probe({ running: { child, spot } }: Turn, scraped: Scraped | undefined): Promise<Sample> {
  child.send('reset');
  const scrapeMs = scraped === undefined ? await sleep(1_000, 0) : await scrape(spot.monitorPort, scraped);
  const answered = once(child, 'message', { signal: AbortSignal.timeout(10_000) });
  child.send('read');
  const [figures] = (await answered) as [Sample];
  return { ...figures, scrapeMs };
}

/** Reads and discards: the harness shares its core with the upstream. Returns the milliseconds; throws for any status but 200. */
async function scrape(port: number, { path, accept }: Scraped): Promise<number> {
  const startedMs = performance.now();
  const request = http.get({ port, host: '127.0.0.1', path, headers: { accept }, agent: false });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  await once(response.resume(), 'end');
  if (response.statusCode !== 200) throw new Error(`${path} answers ${response.statusCode}`);
  return performance.now() - startedMs;
}

const NAMES = 200;
const OBJECTS = 1_000;
const ALONE = 20;
/** After fewer, V8 has not optimized everything: a sidecar is scraped for weeks. */
const WARM_UP_SCRAPES = 200;
/** Between scrapes, and before the first: the sidecar has nothing else to do then. */
const PAUSE_MS = 200;
/** Ten calls at once, each 10 ms after the one before. */
const CALLS: Load = { kind: 'rpc', connections: 10, thinkMs: 10, users: 10, names: NAMES };

/** The plant whose series docs/fleet.md counts. */
const SCRAPE_PLANT: Workload = {
  name: 'scrape-plant',
  title: 'Scrape of a large plant',
  how:
    `/metrics of ${NAMES} RPCs and ${OBJECTS} objects. "Loop" is the busy time of the event loop for a scrape, or the processor time if that is less, "blocked" the longest that ` +
    `its timer came late: the median of ${ALONE} scrapes without other work, after ${WARM_UP_SCRAPES} others. Then 10 calls at once, first without scrapes ` +
    '("before"), then with one each second.',
  upstream: 'nginx',
  contestants: toContestants([PROBED_SIDECAR]),
  columns: [
    ...[column('activeMs', 'loop ms'), column('blockedMs', 'blocked ms'), column('scrapeMs', 'scrape ms')],
    ...[P50, P99, P99_BEFORE],
  ],
  targets: [
    atMost(15, 'scrape of a large plant: time of the loop, ms', figure(SIDECAR.name, 'activeMs'), 1),
    atMost(5, 'scrape of a large plant: longest piece of work, ms', figure(SIDECAR.name, 'blockedMs'), 1),
    atMost(1.1, 'scrape of a large plant: p99 of 10 calls, to that before', p99ToBefore(SIDECAR.name)),
  ],
  prepare: async ({ running: { spot } }) => {
    const calls = Array.from({ length: 10 * NAMES }, (_, i) => rpcRequest(i % NAMES, i % 10));
    await fill(spot.port, calls);
    await fill(spot.port, manyObjects(OBJECTS));
    for (let i = 0; i < WARM_UP_SCRAPES; i += 1) await scrape(spot.monitorPort, PROMETHEUS);
  },
  measure: async (turn) => {
    const alone: Sample[] = [];
    for (let i = 0; i < ALONE; i += 1) {
      await sleep(PAUSE_MS);
      alone.push(await probe(turn, PROMETHEUS));
    }
    const { sample } = await measureBeside(turn, CALLS, PROMETHEUS, 1);
    const median = (key: string) => medianOf(alone.map((one) => one[key] ?? 0));
    const [activeMs, blockedMs, scrapeMs] = [median('activeMs'), median('blockedMs'), median('scrapeMs')];
    return { ...sample, activeMs, blockedMs, scrapeMs };
  },
};

export const TABLES: readonly Workload[] = [MEMORY, SCRAPE, SCRAPE_PLANT];
