import { Worker } from 'node:worker_threads';
import type { Refused } from './archive-file.ts';
import type { Store, StoreLimits } from './store.ts';
import { WORKER_SOURCE } from './worker-source.ts';

/** A reader that asks faster than the disk answers is refused. */
const MAX_WAITING = 32;
/** Enough for minutes of 14,000 names, and beside them for a summary of 4,000. V8 collects late where it may grow. */
const MAX_HEAP_MB = 64;
const MAX_ASIDE_HEAP_MB = 256;

export interface WorkerOptions extends StoreLimits {
  /** Without links. */
  readonly file: string;
  /** Beside the thread that writes: a damaged file stays where it is, for that one to find. */
  readonly isAside: boolean;
}

export type StoreCalls = Pick<Store, keyof Store> & { close(): void };

export interface Call {
  readonly name: keyof StoreCalls;
  readonly args: readonly never[];
}

/** To the oldest call without one. */
export interface Answer {
  readonly value?: unknown;
  /** Why the call failed, e.g. `database or disk is full`. */
  readonly error?: string;
  readonly refused?: Refused | undefined;
}

/** Runs calls of the store one after the other, in a thread that keeps no process alive. */
export class Thread {
  readonly #worker: Worker;
  /** In the order of their calls. */
  readonly #waiting: { resolve(value: never): void; reject(reason: Error): void }[] = [];
  hasEnded = false;

  constructor(workerData: WorkerOptions, onRefused: (refused: Refused) => void) {
    this.#worker = new Worker(WORKER_SOURCE, {
      ...{ eval: true, name: 'history', workerData },
      // Node.js before 26 warns of node:sqlite.
      execArgv: ['--disable-warning=ExperimentalWarning'],
      resourceLimits: {
        maxOldGenerationSizeMb: workerData.isAside ? MAX_ASIDE_HEAP_MB : MAX_HEAP_MB,
        maxYoungGenerationSizeMb: 4,
      },
    });
    this.#worker.on('message', ({ value, error, refused }: Answer) => {
      if (refused !== undefined) onRefused(refused);
      const waiting = this.#waiting.shift();
      if (error === undefined) waiting?.resolve(value as never);
      else waiting?.reject(new Error(error));
    });
    this.#worker.on('error', (error) => this.#ended(error));
    this.#worker.on('exit', () => this.#ended(new Error('the thread has ended')));
    this.#worker.unref();
  }

  /** Rejects with the reason of the store, or when the thread ends. */
  ask<Name extends keyof StoreCalls>(
    name: Name,
    ...args: Parameters<StoreCalls[Name]>
  ): Promise<ReturnType<StoreCalls[Name]>> {
    if (this.hasEnded) return Promise.reject(new Error('the thread has ended'));
    if (this.#waiting.length >= MAX_WAITING)
      return Promise.reject(new Error('the disk is too slow for so many readers'));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#worker.postMessage({ name, args });
    });
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #ended(reason: Error): void {
    this.hasEnded = true;
    for (const { reject } of this.#waiting.splice(0)) reject(reason);
  }
}
