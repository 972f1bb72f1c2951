/** Orders of a run to one of its processes, and their answers, over the channel that Node gives to a child. */
import type { ChildProcess } from 'node:child_process';
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
  process.on('message', ({ number, kind, argument }: { number: number; kind: string; argument: never }) => {
    const obeyed = new Promise((resolve) => resolve(orders[kind]?.(argument)));
    obeyed.then(
      (result) => answer({ number, result }),
      (cause: Error) => answer({ number, error: cause.stack ?? String(cause) }),
    );
  });
  process.on('disconnect', () => process.exit(0));
  process.on('SIGTERM', () => process.exit(0));
  answer({ number: 0 });
}

/** A Node program that obeys orders; it may be started again after its end. */
export class OrderedProcess {
  readonly #processes: Processes;
  readonly #args: readonly string[];
  readonly #waiting = new Map<number, (answer: Answer) => void>();
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
    const child = this.#processes.start({ file: process.execPath, args: this.#args, hasChannel: true });
    this.#child = child;
    child.on('message', (answer: Answer) => this.#waiting.get(answer.number)?.(answer));
    child.on('exit', () => {
      for (const [number, settle] of this.#waiting) settle({ number, error: this.#lastWordsOf(child) });
    });
    await this.#answerTo(child, 0, TIMEOUT_MS);
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

  #lastWordsOf(child: ChildProcess): string {
    return `it has ended: ${this.#processes.outputOf(child).trim().slice(-500)}`;
  }

  async #answerTo(child: ChildProcess, number: number, timeoutMs: number): Promise<unknown> {
    if (hasEnded(child)) throw new Error(this.#lastWordsOf(child));
    const error = `no answer within ${timeoutMs} ms`;
    const answer = await new Promise<Answer>((resolve) => {
      const timer = setTimeout(() => resolve({ number, error }), timeoutMs);
      this.#waiting.set(number, (one) => {
        clearTimeout(timer);
        resolve(one);
      });
    });
    this.#waiting.delete(number);
    if (answer.error !== undefined) throw new Error(`${this.#args[0]}: ${answer.error}`);
    return answer.result;
  }
}
