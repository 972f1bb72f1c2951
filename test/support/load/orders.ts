/** Orders of a run to one of its processes, and their answers, over the channel that Node gives to a child. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
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

export class OrderedProcess {
  readonly #child: ChildProcess;
  readonly #processes: Processes;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #number = 0;

  private constructor(processes: Processes, args: readonly string[]) {
    this.#processes = processes;
    this.#child = processes.start({ file: process.execPath, args, hasChannel: true });
    this.#child.on('message', (answer: Answer) => this.#waiting.get(answer.number)?.(answer));
    this.#child.on('exit', () => {
      for (const [number, settle] of this.#waiting) settle({ number, error: this.#lastWords });
    });
  }

  static async start(processes: Processes, ...args: readonly string[]): Promise<OrderedProcess> {
    const one = new OrderedProcess(processes, args);
    await one.#answerTo(0, TIMEOUT_MS);
    return one;
  }

  /** Resolves to the answer of the process. Rejects with its error, when it ends, or after `timeoutMs`. */
  async order<T>(kind: string, argument?: unknown, timeoutMs = TIMEOUT_MS): Promise<T> {
    this.#number += 1;
    const answer = this.#answerTo(this.#number, timeoutMs);
    if (!hasEnded(this.#child)) this.#child.send({ number: this.#number, kind, argument });
    return (await answer) as T;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const ended = hasEnded(this.#child) ? undefined : once(this.#child, 'exit');
    this.#child.kill(signal);
    await ended;
    await this.#processes.stop(this.#child);
  }

  get #lastWords(): string {
    return `it has ended: ${this.#processes.outputOf(this.#child).trim().slice(-500)}`;
  }

  async #answerTo(number: number, timeoutMs: number): Promise<unknown> {
    if (hasEnded(this.#child)) throw new Error(this.#lastWords);
    const error = `no answer within ${timeoutMs} ms`;
    const answer = await new Promise<Answer>((resolve) => {
      const timer = setTimeout(() => resolve({ number, error }), timeoutMs);
      this.#waiting.set(number, (one) => {
        clearTimeout(timer);
        resolve(one);
      });
    });
    this.#waiting.delete(number);
    if (answer.error !== undefined) throw new Error(`${this.#child.spawnargs[1]}: ${answer.error}`);
    return answer.result;
  }
}
