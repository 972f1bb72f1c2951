/** Applies faults of the whole upstream, each announced as a window in which calls may fail. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../support/fuzz/random.ts';
import type { OrderedProcess } from '../../support/load/orders.ts';
import type { Book } from '../accounts/book.ts';

type Act = (upstream: OrderedProcess) => Promise<void> | void;

const restart: Act = (upstream) => upstream.start();

/** What begins each fault, and what ends it. */
const FAULTS: Readonly<Record<string, readonly [begin: Act, end?: Act]>> = {
  kill: [(upstream) => upstream.end('SIGKILL'), restart],
  restart: [(upstream) => upstream.end('SIGTERM'), restart],
  silent: [(upstream) => upstream.signal('SIGSTOP'), (upstream) => upstream.signal('SIGCONT')],
  refuse: [(upstream) => upstream.order('refuse'), (upstream) => upstream.order('accept')],
  'reset-new': [(upstream) => upstream.order('reset-new', true), (upstream) => upstream.order('reset-new', false)],
  'reset-all': [(upstream) => upstream.order('reset-all')],
};
const GAP_MS = 2_500;
/** No fault begins later than this before the end. */
const LAST_MS = 1_000;

export class Storm {
  readonly counts: Record<string, number> = {};
  readonly #upstream: OrderedProcess;
  readonly #book: Book;
  #left: string[] = [];

  constructor(upstream: OrderedProcess, book: Book) {
    this.#upstream = upstream;
    this.#book = book;
  }

  /**
   * Fault after fault for a time; each kind comes once before any of them again. `settled` resolves when the sidecar has worked
   * off what was pending: a slow machine needs longer to notice that a fault is over.
   */
  async run(random: Random, forMs: number, settled: () => Promise<unknown>): Promise<void> {
    const endMs = performance.now() + forMs;
    const leftMs = () => Math.max(0, endMs - performance.now());
    await sleep(random.below(GAP_MS));
    while (leftMs() > LAST_MS) {
      if (this.#left.length === 0) this.#left = Object.keys(FAULTS);
      const [kind = ''] = this.#left.splice(random.below(this.#left.length), 1);
      const [begin, end] = FAULTS[kind] ?? [];
      this.counts[kind] = (this.counts[kind] ?? 0) + 1;
      const close = this.#book.openWindow(`upstream: ${kind}`);
      await begin?.(this.#upstream);
      await sleep(100 + random.below(1_200));
      await end?.(this.#upstream);
      await settled();
      close();
      await sleep(Math.min(leftMs(), 1_000 + random.below(2 * GAP_MS)));
    }
    await sleep(leftMs());
  }
}
