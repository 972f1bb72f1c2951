/** Every process that the benchmarks start, so that each can be ended by its id, even after an interrupt. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** With a channel for messages; only for Node programs. */
  readonly hasChannel?: boolean;
}

const STOP_TIMEOUT_MS = 3_000;
/** How much of a program's output is kept, to explain its end. */
const KEPT_CHARS = 4_000;

export class Processes {
  readonly #folder: string;
  readonly #running = new Map<ChildProcess, string>();
  /** True once all are being ended: failures are expected then. */
  isClosed = false;

  /** `folder` is for temporary files of programs, so that nothing is left behind. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Starts a program in its own process group, on the given core, or on the harness's. */
  start(command: Command, core?: number): ChildProcess {
    if (this.isClosed) throw new Error('interrupted');
    const line = core === undefined ? [command.file] : ['taskset', '-c', String(core), command.file];
    const [file = '', ...before] = line;
    const child = spawn(file, [...before, ...command.args], {
      // A group includes workers, and keeps Ctrl-C from ending half of a measurement before the harness does.
      detached: true,
      stdio: command.hasChannel ? ['ignore', 'pipe', 'pipe', 'ipc'] : ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, TMPDIR: this.#folder, ...command.env },
    });
    this.#running.set(child, '');
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#running.set(child, `${this.outputOf(child)}${text}`.slice(-KEPT_CHARS));
      });
    }
    child.on('error', (cause) => this.#running.set(child, cause.message));
    return child;
  }

  outputOf(child: ChildProcess): string {
    return this.#running.get(child) ?? '';
  }

  /** Runs a program to its end and resolves to its output. Throws when it fails. */
  async run(file: string, args: readonly string[]): Promise<string> {
    const child = this.start({ file, args });
    try {
      const [code] = (await once(child, 'close')) as [number | null];
      const output = this.outputOf(child);
      if (code !== 0) throw new Error(`${file} ended with ${code ?? 'a signal'}: ${output.trim().slice(-500)}`);
      return output;
    } finally {
      this.#running.delete(child);
    }
  }

  /** Sends the signal, then SIGKILL to the whole group if that is not enough. Whether it ended by itself. */
  async stop(
    child: ChildProcess,
    signal: NodeJS.Signals = 'SIGTERM',
    timeoutMs: number = STOP_TIMEOUT_MS,
  ): Promise<boolean> {
    let isInTime = true;
    if (!hasEnded(child)) {
      const ended = once(child, 'exit');
      const timer = setTimeout(() => {
        isInTime = false;
        signalGroup(child, 'SIGKILL');
      }, timeoutMs);
      child.kill(signal);
      await ended;
      clearTimeout(timer);
      // A killed master leaves its workers.
      signalGroup(child, 'SIGKILL');
    }
    this.#running.delete(child);
    return isInTime;
  }

  /** Ends all, and starts no more. */
  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all([...this.#running.keys()].map((child) => this.stop(child)));
  }
}

export function hasEnded(child: ChildProcess): boolean {
  // Without an id it never started.
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal);
  } catch {
    // The group is empty, as it should be.
  }
}

export function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}
