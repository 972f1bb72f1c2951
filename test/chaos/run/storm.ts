/** Applies the faults of the whole upstream, each announced as a window in which calls may fail. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Windows } from '../accounts/windows.ts';
import type { UpstreamProcess } from './upstream-process.ts';
import type { UpstreamFault, UpstreamFaultKind } from './weather.ts';

export class Storm {
  readonly counts = new Map<UpstreamFaultKind, number>();
  readonly #upstream: UpstreamProcess;
  readonly #windows: Windows;
  #now = 'there';

  constructor(upstream: UpstreamProcess, windows: Windows) {
    this.#upstream = upstream;
    this.#windows = windows;
  }

  /** The upstream's current state. */
  get condition(): string {
    return this.#now;
  }

  /** Applies all faults; on `signal` no further one begins, and the current one is finished. */
  async run(faults: readonly UpstreamFault[], signal: AbortSignal): Promise<void> {
    const beganMs = performance.now();
    for (const fault of faults) {
      const waitMs = beganMs + fault.atMs - performance.now();
      if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      await this.#carryOut(fault);
    }
  }

  async #carryOut({ kind, forMs }: UpstreamFault): Promise<void> {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    this.#now = kind;
    const close = this.#windows.open(`upstream: ${kind}`, performance.now());
    await this.#begin(kind);
    await sleep(forMs);
    await this.#end(kind);
    close(performance.now());
    this.#now = 'there';
  }

  async #begin(kind: UpstreamFaultKind): Promise<void> {
    switch (kind) {
      case 'kill':
        return await this.#upstream.end('SIGKILL');
      case 'restart':
        return await this.#upstream.end('SIGTERM');
      case 'silent':
        return this.#upstream.signal('SIGSTOP');
      case 'refuse':
        return void (await this.#upstream.order({ kind: 'refuse' }));
      case 'reset-new':
        return void (await this.#upstream.order({ kind: 'reset-new', isOn: true }));
      case 'reset-all':
        return void (await this.#upstream.order({ kind: 'reset-all' }));
    }
  }

  async #end(kind: UpstreamFaultKind): Promise<void> {
    if (kind === 'kill' || kind === 'restart') await this.#upstream.start();
    else if (kind === 'silent') this.#upstream.signal('SIGCONT');
    else if (kind === 'refuse') await this.#upstream.order({ kind: 'accept' });
    else if (kind === 'reset-new') await this.#upstream.order({ kind: 'reset-new', isOn: false });
  }
}
