/**
 * Answers `/metrics` for many sidecars from one port: `/small/17/metrics`. Some of the same size share their counters, and
 * so their text: writing one is the work, and one process has to answer a thousand.
 */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Size, SyntheticSite } from './synthetic-site.ts';

/** Different counters for each size. */
const VARIANTS = 6;
/** Between two scrapes, all values move. */
const STEPS_PER_SCRAPE = 3;

export type Counts = Readonly<Record<Size, number>>;

/** `late`: more than `interval` and a second after the one before. */
export type ScrapeReading = ReturnType<SyntheticFleet['takeScrapes']>;

/** A target of file service discovery: https://prometheus.io/docs/prometheus/latest/configuration/configuration/#file_sd_config. */
export type TargetGroup = ReturnType<SyntheticFleet['targets']>[number];

export class SyntheticFleet {
  readonly #sites: ReadonlyMap<string, readonly SyntheticSite[]>;
  readonly #server = http.createServer((request, response) => this.#answer(request, response));
  readonly #faulty = new Set<string>();
  readonly #gone = new Set<string>();
  readonly #lastMs = new Map<string, number>();
  readonly #intervalMs: number;
  readonly #timer: NodeJS.Timeout;
  #scrapes = 0;
  #late = 0;

  private constructor(sites: ReadonlyMap<string, readonly SyntheticSite[]>, intervalMs: number) {
    this.#sites = sites;
    this.#intervalMs = intervalMs;
    this.#server.keepAliveTimeout = 120_000;
    const stepMs = Math.round(intervalMs / STEPS_PER_SCRAPE);
    this.#timer = setInterval(() => {
      for (const site of [...this.#sites.values()].flat()) site.step(stepMs / 1_000);
    }, stepMs);
  }

  static async start(intervalMs: number): Promise<SyntheticFleet> {
    const sites = new Map<string, readonly SyntheticSite[]>();
    for (const size of ['small', 'full'] as const) {
      const create = (_: unknown, variant: number) => SyntheticSite.create(size, 'well', variant);
      sites.set(`${size} well`, await Promise.all(Array.from({ length: VARIANTS }, create)));
      sites.set(`${size} faulty`, [await SyntheticSite.create(size, 'faulty', 0)]);
    }
    const fleet = new SyntheticFleet(sites, intervalMs);
    await once(fleet.#server.listen(0, '127.0.0.1'), 'listening');
    return fleet;
  }

  /** Two sidecars for each site. */
  targets({ small, full }: Counts) {
    const { port } = this.#server.address() as AddressInfo;
    const of = (size: Size, count: number) =>
      Array.from({ length: count }, (_, at) => ({
        targets: [`127.0.0.1:${port}`] as const,
        labels: {
          ...{ site: `${size}-${Math.floor(at / 2)}`, instance: instanceOf(size, at) },
          __metrics_path__: `/${size}/${at}/metrics`,
        },
      }));
    return [...of('small', small), ...of('full', full)];
  }

  /** The series of one of the size. */
  seriesOf(size: Size): number {
    const text = this.#sites.get(`${size} well`)?.[0]?.text('openmetrics').toString() ?? '';
    return text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
  }

  /** From now on their server takes no connections. */
  plantFault(size: Size, ...numbers: readonly number[]): void {
    for (const number of numbers) this.#faulty.add(`${size}/${number}`);
  }

  /** From now on it answers 503. */
  remove(size: Size, number: number): void {
    this.#gone.add(`${size}/${number}`);
  }

  /** Since the last call. */
  takeScrapes() {
    const reading = { scrapes: this.#scrapes, late: this.#late };
    [this.#scrapes, this.#late] = [0, 0];
    return reading;
  }

  /** Forgets the last moments of scrapes, when another store begins. */
  forget(): void {
    this.#lastMs.clear();
  }

  #answer({ url = '', headers }: http.IncomingMessage, response: http.ServerResponse): void {
    const [, size = '', number = ''] = url.split('/');
    const key = `${size}/${number}`;
    this.#note(key);
    const sites = this.#sites.get(`${size} ${this.#faulty.has(key) ? 'faulty' : 'well'}`);
    const site = sites?.[Number(number) % sites.length];
    if (site === undefined || this.#gone.has(key)) {
      response.writeHead(503).end();
      return;
    }
    const isOpenMetrics = headers.accept?.includes('openmetrics') === true;
    const type = isOpenMetrics ? 'application/openmetrics-text; version=1.0.0' : 'text/plain; version=0.0.4';
    response.writeHead(200, { 'content-type': `${type}; charset=utf-8` });
    response.end(site.text(isOpenMetrics ? 'openmetrics' : 'text'));
  }

  #note(key: string): void {
    const nowMs = performance.now();
    this.#scrapes += 1;
    if (nowMs - (this.#lastMs.get(key) ?? nowMs) > this.#intervalMs + 1_000) this.#late += 1;
    this.#lastMs.set(key, nowMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#server.closeAllConnections();
    await once(this.#server.close(), 'close');
  }
}

/** As if each had an address of its own. */
export function instanceOf(size: Size, number: number): string {
  return `${size}-${number}.example:9280`;
}
