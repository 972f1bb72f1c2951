import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { hasEnded, type Processes } from '../../bench/load/processes.ts';
import { Samples } from '../accounts/samples.ts';

export interface SidecarParts {
  readonly processes: Processes;
  /** The sidecar's `main.js`. */
  readonly main: string;
  readonly folder: string;
  readonly port: number;
  readonly monitorPort: number;
  readonly upstreamPort: number;
}

export interface SidecarSettings {
  readonly dataPath: 'auto' | 'gateway';
  readonly responseTimeoutMs: number;
}

const START_TIMEOUT_MS = 20_000;
const SCRAPE_TIMEOUT_MS = 10_000;
/** Beyond its own deadline for running exchanges. */
const STOP_TIMEOUT_MS = 15_000;
/** Short, since a run has many stops; but long enough for some WebSockets to be closed in order. */
const STOP = { delay: '300ms', window: '700ms', deadline: '4s' };
const HALF_CLOSED = '4s';
/** Also bounds how soon a client is missed that left while the upstream did not read; no client here is silent for that long. */
const IDLE = '5s';

/** A real sidecar process, observed only through its ports, its log and /proc. */
export class SidecarProcess {
  readonly pid: number;
  /** Log lines of level error and above, and standard error. */
  readonly complaints: string[] = [];
  readonly #child: ChildProcess;
  readonly #parts: SidecarParts;

  private constructor(child: ChildProcess, parts: SidecarParts) {
    this.#child = child;
    this.#parts = parts;
    this.pid = child.pid as number;
  }

  /** Resolves when it listens, with the duration of the start in `startMs`. Throws when it ends instead. */
  static async start(parts: SidecarParts, settings: SidecarSettings): Promise<SidecarProcess> {
    const { processes, main, folder, port, monitorPort, upstreamPort } = parts;
    const file = path.join(folder, 'sidecar.json');
    writeFileSync(
      file,
      JSON.stringify({
        upstream: {
          url: `http://127.0.0.1:${upstreamPort}/smartWeb`,
          responseTimeout: `${settings.responseTimeoutMs}ms`,
        },
        listen: { host: '127.0.0.1', port },
        monitor: { host: '127.0.0.1', port: monitorPort },
        dataPath: settings.dataPath,
        jvm: { source: 'none' },
        stop: STOP,
        timeouts: { halfClosed: HALF_CLOSED, idle: IDLE },
      }),
    );
    const child = processes.start({ file: process.execPath, args: [main, '--config', file] });
    const sidecar = new SidecarProcess(child, parts);
    await sidecar.#untilListening();
    return sidecar;
  }

  get hasEnded(): boolean {
    return hasEnded(this.#child);
  }

  /** How it ended, and its last output, e.g. `signal SIGSEGV: ...`. */
  get lastWords(): string {
    const { exitCode, signalCode } = this.#child;
    const how = signalCode === null ? `exit code ${exitCode}` : `signal ${signalCode}`;
    return `${how}: ${this.#parts.processes.outputOf(this.#child).slice(-2_000)}`;
  }

  /** Its metrics. */
  async scrape(): Promise<Samples> {
    return new Samples(await this.#get('/metrics'));
  }

  /** Its statistics as Dropwizard JSON. */
  async statistics(): Promise<{
    readonly timers: Record<string, { count: number }>;
    readonly meters: Record<string, { count: number }>;
  }> {
    return JSON.parse(await this.#get('/smartWeb/api/rest/v0/admin/metrics/d2'));
  }

  /** Sends the signal and resolves to the exit code, 128 when a signal ended it. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number> {
    const ended = this.hasEnded ? undefined : once(this.#child, 'exit');
    this.#child.kill(signal);
    const timer = setTimeout(() => {
      this.complaints.push(`did not end ${STOP_TIMEOUT_MS} ms after ${signal}`);
      this.#child.kill('SIGKILL');
    }, STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(timer);
    await this.#parts.processes.stop(this.#child);
    return this.#child.exitCode ?? 128;
  }

  async #get(path: string): Promise<string> {
    const signal = AbortSignal.timeout(SCRAPE_TIMEOUT_MS);
    // On a closed connection, so that no descriptor is left.
    const headers = { Connection: 'close' };
    const response = await fetch(`http://127.0.0.1:${this.#parts.monitorPort}${path}`, { signal, headers });
    if (!response.ok) throw new Error(`${path} was answered ${response.status}`);
    return await response.text();
  }

  async #untilListening(): Promise<void> {
    const child = this.#child;
    child.stderr?.on('data', (text: string) => this.complaints.push(text.trim().slice(0, 500)));
    const isListening = new Promise<void>((resolve) => {
      if (child.stdout === null) return;
      createInterface({ input: child.stdout }).on('line', (line) => {
        if (line.includes('"msg":"listening"')) resolve();
        if (/"level":"(error|fatal)"/.test(line)) this.complaints.push(line.slice(0, 500));
      });
    });
    const over = new AbortController();
    try {
      const ended = once(child, 'exit', over).then(() => 'ended');
      const late = once(AbortSignal.timeout(START_TIMEOUT_MS), 'abort', over).then(() => 'says nothing');
      const how = await Promise.race([isListening, ended, late]);
      if (typeof how === 'string')
        throw new Error(`the sidecar ${how}: ${this.#parts.processes.outputOf(child).slice(-1_000)}`);
    } finally {
      over.abort();
    }
  }
}
