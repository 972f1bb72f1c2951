/** A real sidecar as a process, observed only through its ports, its output and /proc. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT_FOLDER } from '../../bench/load/folders.ts';
import { NODE_ARGS, NODE_ENVIRONMENT } from '../../bench/load/peers/node-peers.ts';
import { type Command, hasEnded, type Processes } from '../../bench/load/processes.ts';
import { samplesOf } from '../monitor/prometheus/samples.ts';

export interface SidecarParts {
  readonly processes: Processes;
  readonly folder: string;
  readonly port: number;
  readonly monitorPort: number;
  readonly upstreamPort: number;
  /** Its dedicated core; undefined: shared with all others. */
  readonly core?: number | undefined;
  /** The command to run instead, e.g. the same one in a cgroup. */
  readonly wrap?: ((command: Command) => Command) | undefined;
  readonly authorization?: string;
}

/** Sections of the configuration, each added to that of the parts. */
export type Settings = Readonly<Record<string, object>>;

export type Samples = ReturnType<typeof toSamples>;

const START_TIMEOUT_MS = 20_000;
const SCRAPE_TIMEOUT_MS = 10_000;
/** Beyond its own deadline for running exchanges. */
const STOP_TIMEOUT_MS = 15_000;
const MOST_COMPLAINTS = 100;

export const MAIN = path.join(ROOT_FOLDER, 'dist/main.js');

export class SidecarProcess {
  readonly pid: number;
  /** Log lines of level error and above, and standard error. */
  readonly complaints: string[] = [];
  readonly ended: Promise<unknown>;
  readonly #child: ChildProcess;
  readonly #parts: SidecarParts;

  private constructor(child: ChildProcess, parts: SidecarParts) {
    this.#child = child;
    this.#parts = parts;
    this.pid = child.pid as number;
    this.ended = once(child, 'exit');
  }

  /** Resolves when it listens. Throws when it ends instead. It is started like the image's. */
  static async start(parts: SidecarParts, settings: Settings): Promise<SidecarProcess> {
    const { processes, folder, port, monitorPort, upstreamPort, core, wrap } = parts;
    const { upstream, listen, monitor, ...others } = settings;
    const configuration = {
      upstream: { url: `http://127.0.0.1:${upstreamPort}/smartWeb`, ...upstream },
      listen: { host: '127.0.0.1', port, ...listen },
      monitor: { host: '127.0.0.1', port: monitorPort, ...monitor },
      jvm: { source: 'none' },
      ...others,
    };
    const file = path.join(folder, 'sidecar.json');
    writeFileSync(file, JSON.stringify(configuration));
    const args = [...NODE_ARGS, MAIN, '--config', file];
    const command = { file: process.execPath, args, env: NODE_ENVIRONMENT };
    const sidecar = new SidecarProcess(processes.start(wrap?.(command) ?? command, core), parts);
    await sidecar.#untilListening();
    return sidecar;
  }

  get hasEnded(): boolean {
    return hasEnded(this.#child);
  }

  get lastWords(): string {
    const { exitCode, signalCode } = this.#child;
    const output = this.#parts.processes.outputOf(this.#child);
    const fatal = output.split('\n').find((line) => line.startsWith('FATAL'));
    return `${signalCode === null ? `exit code ${exitCode}` : `signal ${signalCode}`}: ${fatal ?? output.slice(-2_000)}`;
  }

  async scrape(): Promise<Samples> {
    return toSamples(await this.get('/metrics'));
  }

  async get(path: string): Promise<string> {
    const { monitorPort, authorization } = this.#parts;
    const signal = AbortSignal.timeout(SCRAPE_TIMEOUT_MS);
    // On a closed connection, so that no descriptor is left.
    const headers = { Connection: 'close', ...(authorization !== undefined && { Authorization: authorization }) };
    const response = await fetch(`http://127.0.0.1:${monitorPort}${path}`, { signal, headers });
    if (!response.ok) throw new Error(`${path} was answered ${response.status}`);
    return await response.text();
  }

  /** Sends the signal and resolves to the exit code, 128 when a signal ended it. */
  async end(signal: 'SIGTERM' | 'SIGKILL', timeoutMs = STOP_TIMEOUT_MS): Promise<number> {
    const isInTime = await this.#parts.processes.stop(this.#child, signal, timeoutMs);
    if (!isInTime) this.complaints.push(`did not end ${timeoutMs} ms after ${signal}`);
    return this.#child.exitCode ?? 128;
  }

  async #untilListening(): Promise<void> {
    const { stdout, stderr } = this.#child;
    const complain = (text: string) => {
      if (this.complaints.length < MOST_COMPLAINTS) this.complaints.push(text.trim().slice(0, 500));
    };
    stderr?.on('data', complain);
    const isListening = new Promise<undefined>((resolve) => {
      createInterface({ input: stdout as NodeJS.ReadableStream }).on('line', (line) => {
        if (line.includes('"msg":"listening"')) resolve(undefined);
        if (/"level":"(error|fatal)"/.test(line)) complain(line);
      });
    });
    const ended = this.ended.then(() => 'has ended');
    const failure = await Promise.race([isListening, ended, sleep(START_TIMEOUT_MS, 'says nothing', { ref: false })]);
    if (failure === undefined) return;
    const words = this.lastWords;
    await this.end('SIGKILL');
    throw new Error(`the sidecar ${failure}: ${words}`);
  }
}

function toSamples(text: string) {
  const all = [...samplesOf(text)];
  return {
    /** Sum of all samples of that name with matching labels; of each label, any of its values. Zero without any. */
    sum: (name: string, labels: Readonly<Record<string, string | readonly string[]>> = {}): number => {
      const isOf = (sample: string) =>
        (sample === name || sample.startsWith(`${name}{`)) &&
        Object.entries(labels).every(([label, values]) =>
          [values].flat().some((value) => sample.includes(`${label}="${value}"`)),
        );
      return all.reduce((sum, [sample, value]) => sum + (isOf(sample) ? value : 0), 0);
    },
  };
}
