/** A scrape of the plant whose series docs/fleet.md counts. */
import { setTimeout as sleep } from 'node:timers/promises';
import { PROBED_SIDECAR } from '../peers/node-peers.ts';
import { figure, ratio, type Sample } from '../results.ts';
import { fill, manyObjects, rpcRequest } from '../small-client.ts';
import { medianOf } from '../statistics.ts';
import type { Load } from '../wrk.ts';
import { column, P50, P99, P99_BEFORE, SIDECAR_NAME } from './columns.ts';
import { measureLoad } from './measure-load.ts';
import { PROMETHEUS, readLoop, scrape } from './tables.ts';
import { atMost, type Turn, type Workload } from './workload.ts';

const NAMES = 200;
const OBJECTS = 1_000;
const SCRAPES = 20;
/** After fewer, V8 has not optimized everything: a sidecar is scraped for weeks. */
const WARM_UP_SCRAPES = 200;
/** Between scrapes, and before the first: the sidecar has nothing else to do then. */
const PAUSE_MS = 200;
/** Ten calls at once, each 10 ms after the one before. */
const CALLS: Load = { kind: 'rpc', connections: 10, thinkMs: 10, users: 10, names: NAMES };
const EVERY_MS = 1_000;

function* calls(): Generator<string> {
  for (let i = 0; i < 10 * NAMES; i += 1) yield rpcRequest(i % NAMES, i % 10);
}

export const SCRAPE_PLANT: Workload = {
  name: 'scrape-plant',
  title: 'Scrape of a large plant',
  how:
    `/metrics of ${NAMES} RPCs and ${OBJECTS} objects. "Loop" is the busy time of the event loop for a scrape, or the processor time if that is less, "blocked" the longest that ` +
    `its timer came late: the median of ${SCRAPES} scrapes without other work, after ${WARM_UP_SCRAPES} others. Then 10 calls at once, first without scrapes ` +
    '("before"), then with one each second.',
  upstream: 'nginx',
  contestants: [{ name: SIDECAR_NAME, title: 'sidecar, everything on', peer: PROBED_SIDECAR }],
  columns: [
    column('activeMs', 'loop ms'),
    column('blockedMs', 'blocked ms'),
    column('scrapeMs', 'scrape ms'),
    P50,
    P99,
    P99_BEFORE,
  ],
  targets: [
    atMost(15, 'scrape of a large plant: time of the loop, ms', figure(SIDECAR_NAME, 'activeMs'), 1),
    atMost(5, 'scrape of a large plant: longest piece of work, ms', figure(SIDECAR_NAME, 'blockedMs'), 1),
    atMost(
      1.1,
      'scrape of a large plant: p99 of 10 calls, to that before',
      ratio(figure(SIDECAR_NAME, 'p99Us'), figure(SIDECAR_NAME, 'p99BeforeUs')),
    ),
  ],
  prepare: async ({ running: { spot } }) => {
    await fill(spot.port, calls());
    await fill(spot.port, manyObjects(OBJECTS));
    for (let i = 0; i < WARM_UP_SCRAPES; i += 1) await scrape(spot.monitorPort, PROMETHEUS);
  },
  measure: async (turn) => {
    const alone = await scrapeAlone(turn);
    const { p99Us: p99BeforeUs } = await measureLoad(turn, CALLS);
    const [sample] = await Promise.all([measureLoad(turn, CALLS), scrapeBeside(turn)]);
    return { ...sample, ...alone, p99BeforeUs };
  },
};

async function scrapeAlone({ running }: Turn): Promise<Sample> {
  const all: { activeMs: number; blockedMs: number; scrapeMs: number }[] = [];
  for (let i = 0; i < SCRAPES; i += 1) {
    await sleep(PAUSE_MS);
    running.child.send('reset');
    const scrapeMs = await scrape(running.spot.monitorPort, PROMETHEUS);
    all.push({ ...(await readLoop(running)), scrapeMs });
  }
  const median = (key: 'activeMs' | 'blockedMs' | 'scrapeMs') => medianOf(all.map((one) => one[key]));
  return { activeMs: median('activeMs'), blockedMs: median('blockedMs'), scrapeMs: median('scrapeMs') };
}

async function scrapeBeside({ running: { spot }, seconds }: Turn): Promise<void> {
  const endMs = performance.now() + seconds * 1_000;
  for (let nextMs = performance.now() + EVERY_MS / 2; nextMs < endMs; nextMs += EVERY_MS) {
    await sleep(Math.max(0, nextMs - performance.now()));
    await scrape(spot.monitorPort, PROMETHEUS);
  }
}
