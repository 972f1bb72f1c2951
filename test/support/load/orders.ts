/** Orders of a run to one of its processes, and their answers, over the channel that Node gives to a child. */
import type { ChildProcess } from 'node:child_process';
import { on } from 'node:events';
import { hasEnded, type Processes } from '../../bench/load/processes.ts';

interface Answer {
  readonly number: number;
  readonly result?: unknown;
  readonly error?: string;
}

const TIMEOUT_MS = 20_000;

/** Carries out orders until the parent is gone, then ends the process. Answer 0 tells the parent that the process is ready. */
export function obeyOrders(orders: Readonly<Record<string, (argument: never) => unknown>>): void {
  const answer = (one: Answer) => process.send?.(one);
  process.on('message', async ({ number, kind, argument }: { number: number; kind: string; argument: never }) => {
    try {
      answer({ number, result: await orders[kind]?.(argument) });
    } catch (cause) {
      answer({ number, error: (cause as Error).stack ?? String(cause) });
    }
  });
  process.on('disconnect', () => process.exit(0));
  process.on('SIGTERM', () => process.exit(0));
  answer({ number: 0 });
}

/** A Node program that obeys orders; it may be started again after its end. */
export class OrderedProcess {
  readonly #processes: Processes;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;
  #number = 0;

  constructor(processes: Processes, ...args: readonly string[]) {
    this.#processes = processes;
    this.#args = args;
  }

  static async start(processes: Processes, ...args: readonly string[]): Promise<OrderedProcess> {
    const one = new OrderedProcess(processes, ...args);
    await one.start();
    return one;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  async start(): Promise<void> {
    this.#child = this.#processes.start({ file: process.execPath, args: this.#args, hasChannel: true });
    await this.#answerTo(this.#child, 0, TIMEOUT_MS);
  }

  /** Resolves to the answer of the process. Rejects with its error, when it ends, or after `timeoutMs`. */
  async order<T>(kind: string, argument?: unknown, timeoutMs = TIMEOUT_MS): Promise<T> {
    const child = this.#child;
    if (child === undefined) throw new Error(`${this.#args[0]} does not run`);
    this.#number += 1;
    const answer = this.#answerTo(child, this.#number, timeoutMs);
    if (!hasEnded(child)) child.send({ number: this.#number, kind, argument });
    return (await answer) as T;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child !== undefined) await this.#processes.stop(child, signal);
  }

  async #answerTo(child: ChildProcess, number: number, timeoutMs: number): Promise<unknown> {
    const answers = on(child, 'message', { signal: AbortSignal.timeout(timeoutMs), close: ['exit'] });
    for await (const [answer] of hasEnded(child) ? [] : (answers as AsyncIterable<[Answer]>)) {
      if (answer.number !== number) continue;
      if (answer.error !== undefined) throw new Error(`${this.#args[0]}: ${answer.error}`);
      return answer.result;
    }
    throw new Error(`${this.#args[0]} has ended: ${this.#processes.outputOf(child).trim().slice(-500)}`);
  }
}
