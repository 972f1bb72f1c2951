/** A whole run: lives of the sidecar with faults, and after each stage that ends in quiet, all accounts compared. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { OrderedProcess } from '../../support/load/orders.ts';
import { openDescriptors } from '../../support/load/proc.ts';
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
const LOOK_MS = 50;
const SHORTEST_STAGE_MS = 4_000;
const LONGEST_STAGE_MS = 25_000;
/** From one quiet point of a life to the next, descriptors must not grow, except for those opened once on first use. */
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
  /** At the first quiet point of this life. */
  #descriptors: number | undefined;
  #ledgerOffset = 0;

  constructor(parts: ChaosParts) {
    this.#parts = parts;
    this.storm = new Storm(parts.upstream, parts.book);
  }

  async run(totalMs: number): Promise<void> {
    const stageMs = Math.max(SHORTEST_STAGE_MS, Math.min(LONGEST_STAGE_MS, totalMs / 16));
    const random = randomOf(this.#parts.seed, 'weather');
    const endMs = performance.now() + totalMs;
    for (let i = 0, isLast = false; !isLast; i += 1) {
      isLast = i >= LIVES.length && performance.now() > endMs - 2 * stageMs;
      const lateMs = i % 4 === 0 ? 300 + random.below(1_500) : undefined;
      await this.#start(random.chance(0.4) ? 4_000 : 0, i === 0 ? 0 : random.below(1_000), lateMs);
      // The calls of a life are compared at the next quiet point.
      for (const end of isLast ? (['quiet'] as const) : (LIVES[i % LIVES.length] ?? [])) {
        await this.#chaos(stageMs);
        this.ends[end] = (this.ends[end] ?? 0) + 1;
        if (end === 'quiet') await this.#quiet();
        else await this.#stop(end);
      }
      await this.#stop('SIGTERM');
    }
  }

  /** Its port stays closed for `awayMs` before; with `lateMs`, the upstream starts that much later than the sidecar. */
  async #start(responseTimeoutMs = 0, awayMs = 0, lateMs?: number): Promise<void> {
    const { sidecar, upstream, book, crowd } = this.#parts;
    const closeLate = lateMs === undefined ? undefined : book.openWindow('upstream: not there yet');
    if (lateMs !== undefined) await upstream.end('SIGTERM');
    await sleep(awayMs);
    book.life += 1;
    this.#descriptors = undefined;
    this.#sidecar = await SidecarProcess.start(sidecar, settingsOf(responseTimeoutMs));
    this.#closeAway?.();
    crowd.begin();
    if (lateMs !== undefined) await sleep(lateMs);
    if (!upstream.isRunning) await upstream.start();
    closeLate?.();
  }

  async #chaos(aboutMs: number): Promise<void> {
    const { crowd, seed } = this.#parts;
    this.#stages += 1;
    const random = randomOf(seed, `stage ${this.#stages}`);
    crowd.begin();
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

  async #quiet(): Promise<void> {
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
    // The connection of the last scrape is being closed.
    await sleep(LOOK_MS);
    const descriptors = openDescriptors(sidecar.pid) ?? 0;
    this.#descriptors ??= descriptors;
    if (descriptors - this.#descriptors > DESCRIPTOR_TOLERANCE)
      book.differ('descriptors', `${descriptors}, ${this.#descriptors} at the first quiet point (life ${book.life})`);
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
