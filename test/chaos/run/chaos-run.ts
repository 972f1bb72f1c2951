/** A whole run: lives of the sidecar with faults, and after each stage that ends in quiet, all accounts compared. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { OrderedProcess } from '../../support/load/orders.ts';
import { type Figures, steadyFiguresOf } from '../../support/load/proc.ts';
import type { Samples } from '../../support/load/samples.ts';
import { type Settings, type SidecarParts, SidecarProcess } from '../../support/load/sidecar.ts';
import type { Book } from '../accounts/book.ts';
import { type Equation, equationsOf, holds, knownOf } from '../accounts/equations.ts';
import type { Crowd } from '../clients/crowd.ts';
import { LedgerReader, type Seen } from '../truth/ledger.ts';
import type { Storm } from './storm.ts';
import type { Life, Stage, Weather } from './weather.ts';

export interface ChaosParts {
  readonly sidecar: SidecarParts;
  readonly upstream: OrderedProcess;
  readonly ledgerPath: string;
  readonly crowd: Crowd;
  readonly storm: Storm;
  readonly book: Book;
}

export interface QuietPoint {
  readonly life: number;
  readonly equations: readonly Equation[];
  readonly figures: Figures;
}

/** Time in which at least one of the remains must disappear: a client may linger for 2 s. */
const QUIET_TIMEOUT_MS = 10_000;
const CALM_MS = 3_000;
const LOOK_MS = 50;
/** Tolerated growth of memory at the end, in calm: V8's own swings, not a leak per call. */
const MEMORY_TOLERANCE_BYTES = 48 * 1024 * 1024;
/** Descriptors must not grow, except for those opened once on first use. */
const DESCRIPTOR_TOLERANCE = 2;

export class ChaosRun {
  readonly points: QuietPoint[] = [];
  readonly ends = { quiet: 0, term: 0, kill: 0 };
  memory: { readonly before: Figures; readonly after: Figures } | undefined;
  life = 0;
  readonly #parts: ChaosParts;
  readonly #seen = new Map<string, Seen>();
  readonly #ledger: LedgerReader;
  #sidecar: SidecarProcess | undefined;
  #closeAway: ((nowMs: number) => void) | undefined;

  constructor(parts: ChaosParts) {
    this.#parts = parts;
    this.#ledger = new LedgerReader(parts.ledgerPath);
  }

  async run({ lives, long }: Weather): Promise<void> {
    for (const life of lives) await this.#live(life);
    await this.#liveLong(long);
  }

  /** The life in which memory is compared, once warm: calm, chaos, and the same calm again. */
  async #liveLong(life: Life): Promise<void> {
    await this.#quiet();
    await this.#stop('SIGTERM', 'stopped');
    await this.#start(life);
    const [warmUp, ...stages] = life.stages;
    if (warmUp !== undefined) await this.#storm(warmUp);
    await this.#quiet();
    const before = await this.#calm();
    for (const stage of stages) {
      await this.#storm(stage);
      await this.#quiet();
    }
    const after = await this.#calm();
    this.memory = { before, after };
    const { differences } = this.#parts.book;
    const grown = after.residentBytes - before.residentBytes;
    if (grown > MEMORY_TOLERANCE_BYTES) differences.add('memory', `${grown} bytes more than at the start`);
    if (after.descriptors - before.descriptors > DESCRIPTOR_TOLERANCE)
      differences.add('descriptors', `${after.descriptors}, ${before.descriptors} at the start`);
    await this.#stop('SIGTERM', 'stopped');
  }

  async #calm(): Promise<Figures> {
    this.#parts.crowd.begin('calm');
    await sleep(CALM_MS);
    return await this.#quiet();
  }

  async #live(life: Life): Promise<void> {
    await this.#start(life);
    for (const stage of life.stages) {
      await this.#storm(stage);
      this.ends[stage.end] += 1;
      if (stage.end === 'quiet') await this.#quiet();
      else await this.#stop(stage.end === 'term' ? 'SIGTERM' : 'SIGKILL', stage.end);
    }
    await this.#stop('SIGTERM', 'stopped');
  }

  async #start({ upstreamComesAfterMs: lateMs, awayMs, responseTimeoutMs }: Life): Promise<void> {
    const { sidecar, upstream, book } = this.#parts;
    const closeLate =
      lateMs === undefined ? undefined : book.windows.open('upstream: not there yet', performance.now());
    if (lateMs !== undefined) await upstream.end('SIGTERM');
    await sleep(awayMs);
    this.life += 1;
    this.#sidecar = await SidecarProcess.start(sidecar, settingsOf(responseTimeoutMs));
    this.#closeAway?.(performance.now());
    this.#closeAway = undefined;
    this.#parts.crowd.begin('chaos');
    if (lateMs !== undefined) await sleep(lateMs);
    if (!upstream.isRunning) await upstream.start();
    closeLate?.(performance.now());
  }

  async #storm({ chaosMs, faults }: Stage): Promise<void> {
    const { crowd, storm } = this.#parts;
    crowd.begin('chaos');
    const over = new AbortController();
    // A crash is reported at the next quiet point.
    const settled = async () => await this.#sidecar?.get('/livez').catch(() => undefined);
    const stormy = storm.run(faults, over.signal, settled);
    await sleep(chaosMs);
    over.abort();
    await stormy;
  }

  async #stop(signal: 'SIGTERM' | 'SIGKILL', why: string): Promise<void> {
    const sidecar = this.#sidecar;
    if (sidecar === undefined) return;
    const { differences, windows } = this.#parts.book;
    this.#closeAway = windows.open(`sidecar: ${why}`, performance.now());
    if (sidecar.hasEnded) differences.add('crash', `ended without an order in life ${this.life}: ${sidecar.lastWords}`);
    const code = await sidecar.end(signal);
    if (signal === 'SIGTERM' && code !== 0) differences.add('exit code', `${code} after SIGTERM in life ${this.life}`);
    for (const complaint of sidecar.complaints) differences.add('complaints', complaint);
    this.#sidecar = undefined;
  }

  async #quiet(): Promise<Figures> {
    const { crowd, book } = this.#parts;
    const { differences, windows } = book;
    await crowd.stop();
    const sidecar = this.#sidecar;
    if (sidecar === undefined) return { residentBytes: 0, descriptors: 0 };
    if (sidecar.hasEnded)
      throw new Error(`the sidecar ended without an order in life ${this.life}: ${sidecar.lastWords}`);
    const samples = await this.#untilQuiet(sidecar);
    this.#ledger.readInto(this.#seen);
    book.settle(this.#seen);
    windows.forget(performance.now());
    const equations = equationsOf(book.lifeTally(this.life), samples);
    for (const equation of equations.filter((one) => !holds(one))) {
      const sides = `${equation.counted} at the sidecar, ${knownOf(equation)} at the clients`;
      differences.add('numbers', `${equation.what}: ${sides} (life ${this.life})`);
    }
    await this.#compareStatistics(sidecar, samples);
    const figures = await steadyFiguresOf(sidecar.pid);
    this.points.push({ life: this.life, equations, figures });
    return figures;
  }

  /** Waits until nothing is open on either side of the sidecar. */
  async #untilQuiet(sidecar: SidecarProcess): Promise<Samples> {
    const { upstream, book } = this.#parts;
    let least = { left: Number.POSITIVE_INFINITY, atMs: 0 };
    for (;;) {
      const samples = await sidecar.scrape();
      const open = samples.sum('d2_sidecar_connections') + samples.sum('d2_sidecar_exchanges_open');
      const atUpstream = await upstream.order<string[]>('list');
      // The answer is rendered in slices: its first numbers may be older than the zeros after them.
      if (open === 0 && atUpstream.length === 0) return await sidecar.scrape();
      const left = open + atUpstream.length;
      if (left < least.left) least = { left, atMs: performance.now() };
      if (performance.now() > least.atMs + QUIET_TIMEOUT_MS) {
        const where = `${open} at the sidecar, at the upstream ${atUpstream.join('; ')}`;
        book.differences.add('left open', `${where} (life ${this.life})`);
        return samples;
      }
      await sleep(LOOK_MS);
    }
  }

  /** Both ways to read the same numbers must agree. */
  async #compareStatistics(sidecar: SidecarProcess, samples: Samples): Promise<void> {
    type Counts = Readonly<Record<string, { readonly count: number }>>;
    const answer = await sidecar.get('/smartWeb/api/rest/v0/admin/metrics/d2');
    const { timers, meters } = JSON.parse(answer) as { readonly timers: Counts; readonly meters: Counts };
    for (const kind of ['rpc', 'sba']) {
      const answered = samples.sum('d2_call_duration_seconds_count', { kind });
      const errors = samples.sum('d2_calls_total', { kind, outcome: 'error' });
      const json = [timers[kind]?.count, meters[`${kind}.errors`]?.count].join();
      if (json !== `${answered},${errors}`)
        this.#parts.book.differences.add('endpoints', `${kind}: ${json} in JSON, ${answered},${errors} in /metrics`);
    }
  }
}

export function settingsOf(responseTimeoutMs = 0): Settings {
  return {
    upstream: { responseTimeout: `${responseTimeoutMs}ms` },
    // Short, since a run has many stops; but long enough for some WebSockets to be closed in order.
    stop: { delay: '300ms', window: '700ms', deadline: '4s' },
    // `idle` also bounds how soon a client is missed that left while the upstream did not read; no client here is silent for that long.
    timeouts: { halfClosed: '4s', idle: '5s' },
  };
}
