/** Applies the faults of the whole upstream, each announced as a window in which calls may fail. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { OrderedProcess } from '../../support/load/orders.ts';
import type { Windows } from '../accounts/windows.ts';
import type { UpstreamFault, UpstreamFaultKind } from './weather.ts';

type Act = (upstream: OrderedProcess) => Promise<void> | void;

const ACTS: Readonly<Record<UpstreamFaultKind, { readonly begin: Act; readonly end?: Act }>> = {
  kill: { begin: (upstream) => upstream.end('SIGKILL'), end: (upstream) => upstream.start() },
  restart: { begin: (upstream) => upstream.end('SIGTERM'), end: (upstream) => upstream.start() },
  silent: { begin: (upstream) => upstream.signal('SIGSTOP'), end: (upstream) => upstream.signal('SIGCONT') },
  refuse: { begin: (upstream) => upstream.order('refuse'), end: (upstream) => upstream.order('accept') },
  'reset-new': {
    begin: (upstream) => upstream.order('reset-new', true),
    end: (upstream) => upstream.order('reset-new', false),
  },
  'reset-all': { begin: (upstream) => upstream.order('reset-all') },
};

export class Storm {
  readonly counts = new Map<UpstreamFaultKind, number>();
  condition = 'there';
  /** The scripted upstream, which may be ended, stopped and restarted on its port. */
  readonly #upstream: OrderedProcess;
  readonly #windows: Windows;

  constructor(upstream: OrderedProcess, windows: Windows) {
    this.#upstream = upstream;
    this.#windows = windows;
  }

  /**
   * Applies all faults; on `signal` no further one begins, and the current one is finished. `settled` resolves when the sidecar
   * has worked off what was pending: a slow machine needs longer to notice that a fault is over.
   */
  async run(faults: readonly UpstreamFault[], signal: AbortSignal, settled: () => Promise<unknown>): Promise<void> {
    const beganMs = performance.now();
    for (const { kind, atMs, forMs } of faults) {
      const waitMs = beganMs + atMs - performance.now();
      if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
      this.condition = kind;
      const close = this.#windows.open(`upstream: ${kind}`, performance.now());
      await ACTS[kind].begin(this.#upstream);
      await sleep(forMs);
      await ACTS[kind].end?.(this.#upstream);
      await settled();
      close(performance.now());
      this.condition = 'there';
    }
  }
}
