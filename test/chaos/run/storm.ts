/** Applies the faults of the whole upstream, each announced as a window in which calls may fail. */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Processes } from '../../bench/load/processes.ts';
import { OrderedProcess } from '../../support/load/orders.ts';
import type { Windows } from '../accounts/windows.ts';
import type { UpstreamFault, UpstreamFaultKind } from './weather.ts';

const PROGRAM = path.join(import.meta.dirname, '../upstream/main.js');

/** The scripted upstream as a process that can be ended, stopped and restarted on its port. */
export class UpstreamProcess {
  readonly #processes: Processes;
  readonly #args: readonly string[];
  #running: OrderedProcess | undefined;

  constructor(processes: Processes, args: readonly string[]) {
    this.#processes = processes;
    this.#args = args;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  async start(): Promise<void> {
    this.#running = await OrderedProcess.start(this.#processes, PROGRAM, ...this.#args);
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.end(signal);
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#running?.signal(signal);
  }

  async order<T>(kind: string, argument?: unknown): Promise<T> {
    if (this.#running === undefined) throw new Error('the upstream does not run');
    return await this.#running.order<T>(kind, argument);
  }
}

type Act = (upstream: UpstreamProcess) => Promise<void> | void;

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
  readonly #upstream: UpstreamProcess;
  readonly #windows: Windows;

  constructor(upstream: UpstreamProcess, windows: Windows) {
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
