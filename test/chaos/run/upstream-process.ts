import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Processes } from '../../bench/load/processes.ts';
import type { UpstreamOrder, UpstreamReply } from '../upstream/commands.ts';
import type { LieKind } from '../upstream/lies.ts';

export interface UpstreamProcessParts {
  readonly processes: Processes;
  readonly port: number;
  readonly seed: number;
  readonly ledgerPath: string;
  readonly lie: LieKind | undefined;
}

const PROGRAM = path.join(import.meta.dirname, '../upstream/main.js');

/** The scripted upstream as a process that can be ended, stopped and restarted on its port. */
export class UpstreamProcess {
  readonly #parts: UpstreamProcessParts;
  readonly #replies = new Map<number, (result: unknown) => void>();
  #child: ChildProcess | undefined;
  #orders = 0;
  #lie: LieKind | undefined;

  constructor(parts: UpstreamProcessParts) {
    this.#parts = parts;
    this.#lie = parts.lie;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  async start(): Promise<void> {
    const { processes, port, seed, ledgerPath } = this.#parts;
    const lie = this.#lie === undefined ? [] : [this.#lie];
    const child = processes.start({
      file: process.execPath,
      args: [PROGRAM, String(port), String(seed), ledgerPath, ...lie],
      hasChannel: true,
    });
    const isOpen = new Promise<unknown>((resolve) => this.#replies.set(0, resolve));
    child.on('message', ({ number, result }: UpstreamReply) => {
      this.#replies.get(number)?.(result);
      this.#replies.delete(number);
    });
    const isGone = once(child, 'exit').then(() => {
      if (this.#child === undefined) throw new Error(`the upstream does not start: ${processes.outputOf(child)}`);
    });
    await Promise.race([isOpen, isGone]);
    isGone.catch(() => undefined);
    this.#child = child;
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
    await this.#parts.processes.stop(child);
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child?.kill(signal);
  }

  /** Resolves to the reply. Throws when the process is not running. */
  async order(order: UpstreamOrder): Promise<unknown> {
    const child = this.#child;
    if (child === undefined) throw new Error('the upstream does not run');
    this.#orders += 1;
    const number = this.#orders;
    const reply = new Promise((resolve) => this.#replies.set(number, resolve));
    child.send({ ...order, number });
    return await reply;
  }
}
