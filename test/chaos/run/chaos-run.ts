/** A whole run: lives of the sidecar with faults, and after each stage that ends in quiet, all accounts compared. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { OrderedProcess } from '../../support/load/orders.ts';
import { type Figures, steadyFiguresOf } from '../../support/load/proc.ts';
import { type Samples, type Settings, type SidecarParts, SidecarProcess } from '../../support/load/sidecar.ts';
import type { Book } from '../accounts/book.ts';
import { unequal } from '../accounts/equations.ts';
import type { Crowd } from '../clients/crowd.ts';
import { readLedger, type Seen } from '../truth/ledger.ts';
import { randomOf } from '../truth/pattern.ts';
import { Storm } from './storm.ts';

export interface ChaosParts {
  readonly seed: number;
  readonly sidecar: SidecarParts;
  readonly upstream: OrderedProcess;
  readonly ledgerPath: string;
  readonly crowd: Crowd;
  readonly book: Book;
}

/** Time in which at least one of the remains must disappear: a client may linger for 2 s. */
const QUIET_TIMEOUT_MS = 10_000;
const CALM_MS = 3_000;
const LOOK_MS = 50;
const SHORTEST_STAGE_MS = 4_000;
const LONGEST_STAGE_MS = 25_000;
/** Approximate time of a start, a quiet point and the calm around them. */
const OVERHEAD_MS = 1_500;
/** Tolerated growth of memory at the end, in calm: V8's own swings, not a leak per call. */
const MEMORY_TOLERANCE_BYTES = 48 * 1024 * 1024;
/** Descriptors must not grow, except for those opened once on first use. */
const DESCRIPTOR_TOLERANCE = 2;

/** How a stage of chaos ends: all clients stop, and every number is compared; or the sidecar ends by that signal under load. */
type StageEnd = 'quiet' | 'SIGTERM' | 'SIGKILL';

/** Every kind of life at least once; a longer run repeats them. */
const LIVES: readonly StageEnd[][] = [['quiet'], ['SIGTERM'], ['SIGKILL'], ['quiet', 'SIGKILL'], ['quiet', 'quiet']];

export class ChaosRun {
  readonly storm: Storm;
  readonly ends: Record<string, number> = {};
  readonly #parts: ChaosParts;
  readonly #seen = new Map<string, Seen>();
  #sidecar: SidecarProcess | undefined;
  #closeAway: (() => void) | undefined;
  #stages = 0;
  #ledgerOffset = 0;

  constructor(parts: ChaosParts) {
    this.#parts = parts;
    this.storm = new Storm(parts.upstream, parts.book);
  }

  /** Two thirds of the time for restarts, the last third for the long life. */
  async run(totalMs: number): Promise<void> {
    const stageMs = Math.max(SHORTEST_STAGE_MS, Math.min(LONGEST_STAGE_MS, totalMs / 16));
    const random = randomOf(this.#parts.seed, 'weather');
    const endMs = performance.now() + (totalMs * 2) / 3;
    for (let i = 0; i < LIVES.length || performance.now() < endMs - stageMs; i += 1) {
      const lateMs = i % 4 === 0 ? 300 + random.below(1_500) : undefined;
      await this.#start(random.chance(0.4) ? 4_000 : 0, i === 0 ? 0 : random.below(1_000), lateMs);
      for (const end of LIVES[i % LIVES.length] ?? []) {
        await this.#chaos(stageMs);
        this.ends[end] = (this.ends[end] ?? 0) + 1;
        if (end === 'quiet') await this.#quiet();
        else await this.#stop(end);
      }
      await this.#stop('SIGTERM');
    }
    await this.#liveLong(stageMs, Math.max(2, Math.round(totalMs / 3 / (stageMs + OVERHEAD_MS)) - 1));
  }

  /** The life in which memory is compared, once warm: calm, chaos, and the same calm again. */
  async #liveLong(stageMs: number, stages: number): Promise<void> {
    await this.#start();
    await this.#chaos(stageMs);
    await this.#quiet();
    const before = await this.#calm();
    for (let i = 0; i < stages; i += 1) {
      await this.#chaos(stageMs);
      await this.#quiet();
    }
    const after = await this.#calm();
    const { book } = this.#parts;
    const grown = after.residentBytes - before.residentBytes;
    if (grown > MEMORY_TOLERANCE_BYTES) book.differ('memory', `${grown} bytes more than at the start`);
    if (after.descriptors - before.descriptors > DESCRIPTOR_TOLERANCE)
      book.differ('descriptors', `${after.descriptors}, ${before.descriptors} at the start`);
    await this.#stop('SIGTERM');
  }

  async #calm(): Promise<Figures> {
    this.#parts.crowd.begin('calm');
    await sleep(CALM_MS);
    return await this.#quiet();
  }

  /** Its port stays closed for `awayMs` before; with `lateMs`, the upstream starts that much later than the sidecar. */
  async #start(responseTimeoutMs = 0, awayMs = 0, lateMs?: number): Promise<void> {
    const { sidecar, upstream, book, crowd } = this.#parts;
    const closeLate = lateMs === undefined ? undefined : book.openWindow('upstream: not there yet');
    if (lateMs !== undefined) await upstream.end('SIGTERM');
    await sleep(awayMs);
    book.life += 1;
    this.#sidecar = await SidecarProcess.start(sidecar, settingsOf(responseTimeoutMs));
    this.#closeAway?.();
    crowd.begin('chaos');
    if (lateMs !== undefined) await sleep(lateMs);
    if (!upstream.isRunning) await upstream.start();
    closeLate?.();
  }

  async #chaos(aboutMs: number): Promise<void> {
    const { crowd, seed } = this.#parts;
    this.#stages += 1;
    const random = randomOf(seed, `stage ${this.#stages}`);
    crowd.begin('chaos');
    // A crash is reported at the next quiet point.
    const settled = async () => await this.#sidecar?.get('/livez').catch(() => undefined);
    await this.storm.run(random, aboutMs * (0.8 + 0.4 * random.next()), settled);
  }

  async #stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const sidecar = this.#sidecar;
    if (sidecar === undefined) return;
    const { book } = this.#parts;
    this.#closeAway = book.openWindow(`sidecar: ${signal}`);
    if (sidecar.hasEnded) book.differ('crash', `ended without an order in life ${book.life}: ${sidecar.lastWords}`);
    const code = await sidecar.end(signal);
    if (signal === 'SIGTERM' && code !== 0) book.differ('exit code', `${code} in life ${book.life}`);
    for (const complaint of sidecar.complaints) book.differ('complaints', complaint);
    this.#sidecar = undefined;
  }

  async #quiet(): Promise<Figures> {
    const { crowd, book, ledgerPath } = this.#parts;
    await crowd.stop();
    const sidecar = this.#sidecar;
    if (sidecar === undefined || sidecar.hasEnded)
      throw new Error(`the sidecar ended without an order in life ${book.life}: ${sidecar?.lastWords}`);
    const samples = await this.#untilQuiet(sidecar);
    this.#ledgerOffset = readLedger(ledgerPath, this.#ledgerOffset, this.#seen);
    book.settle(this.#seen);
    for (const what of unequal(book.lifeTally(book.life), samples))
      book.differ('numbers', `${what} (life ${book.life})`);
    await this.#compareStatistics(sidecar, samples);
    return await steadyFiguresOf(sidecar.pid);
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
        book.differ(
          'left open',
          `${open} at the sidecar, at the upstream ${atUpstream.join('; ')} (life ${book.life})`,
        );
        return samples;
      }
      await sleep(LOOK_MS);
    }
  }

  /** Both ways to read the same numbers must agree. */
  async #compareStatistics(sidecar: SidecarProcess, samples: Samples): Promise<void> {
    const answer = JSON.parse(await sidecar.get('/smartWeb/api/rest/v0/admin/metrics/d2'));
    for (const kind of ['rpc', 'sba']) {
      const answered = samples.sum('d2_call_duration_seconds_count', { kind });
      const errors = samples.sum('d2_calls_total', { kind, outcome: 'error' });
      const json = [answer.timers[kind]?.count, answer.meters[`${kind}.errors`]?.count].join();
      if (json !== `${answered},${errors}`)
        this.#parts.book.differ('endpoints', `${kind}: ${json} in JSON, ${answered},${errors} in /metrics`);
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
