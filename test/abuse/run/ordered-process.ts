import type { ChildProcess } from 'node:child_process';
import path from 'node:path';
import { hasEnded, type Processes } from '../../bench/load/processes.ts';
import type { Answer } from '../channel.ts';

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (cause: Error) => void;
}

const START_TIMEOUT_MS = 20_000;

/** A process of the run that carries out orders, e.g. `users/main.js`. */
export class OrderedProcess {
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #processes: Processes;
  readonly #waiting = new Map<number, Waiting>();
  #number = 0;

  private constructor(processes: Processes, name: string) {
    this.#name = name;
    this.#processes = processes;
    const file = path.resolve(import.meta.dirname, '..', name, 'main.js');
    this.#child = processes.start({ file: process.execPath, args: [file], hasChannel: true });
    this.#child.on('message', (answer: Answer) => this.#onAnswer(answer));
    this.#child.on('exit', () => this.#onExit());
  }

  static async start(processes: Processes, name: string): Promise<OrderedProcess> {
    const one = new OrderedProcess(processes, name);
    await one.#answer(0, START_TIMEOUT_MS);
    return one;
  }

  /** Resolves to the answer of the process. Rejects with its error, when it ends, or after `timeoutMs`. */
  async order<T>(kind: string, timeoutMs: number, argument?: unknown): Promise<T> {
    this.#number += 1;
    const number = this.#number;
    const answer = this.#answer(number, timeoutMs);
    this.#child.send({ number, kind, argument });
    return (await answer) as T;
  }

  async stop(): Promise<void> {
    await this.#processes.stop(this.#child);
  }

  #answer(number: number, timeoutMs: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (hasEnded(this.#child)) return reject(this.#ended());
      const timer = setTimeout(() => reject(new Error(`${this.#name}: no answer within ${timeoutMs} ms`)), timeoutMs);
      const clear = () => {
        clearTimeout(timer);
        this.#waiting.delete(number);
      };
      this.#waiting.set(number, {
        resolve: (result) => {
          clear();
          resolve(result);
        },
        reject: (cause) => {
          clear();
          reject(cause);
        },
      });
    });
  }

  #onAnswer({ number, result, error }: Answer): void {
    const waiting = this.#waiting.get(number);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(`${this.#name}: ${error}`));
  }

  #onExit(): void {
    for (const { reject } of [...this.#waiting.values()]) reject(this.#ended());
  }

  #ended(): Error {
    return new Error(`${this.#name} ended: ${this.#processes.outputOf(this.#child).trim().slice(-500)}`);
  }
}
