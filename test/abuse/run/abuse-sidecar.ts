import type { ChildProcess } from 'node:child_process';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { NODE_ARGS, NODE_ENVIRONMENT } from '../../bench/load/peers/node-peers.ts';
import { freePorts, untilListening } from '../../bench/load/ports.ts';
import { type Command, hasEnded, type Processes } from '../../bench/load/processes.ts';
import { Samples } from '../../chaos/accounts/samples.ts';
import { CertificateFolder } from '../../support/tls/certificates.ts';
import type { Flood } from '../floods/flood.ts';
import { APPLICATION, MONITOR_PASSWORD, MONITOR_READERS, toBasic } from '../plant.ts';
import type { MemoryCgroup } from './memory-cgroup.ts';

export interface SidecarParts {
  readonly processes: Processes;
  /** The sidecar's `main.js`. */
  readonly main: string;
  /** For its configuration, passwords and certificate. */
  readonly folder: string;
  readonly upstreamPort: number;
  readonly cgroup: MemoryCgroup | undefined;
  /** Its dedicated core; undefined: shared with all others. */
  readonly core: number | undefined;
}

const SCRAPE_TIMEOUT_MS = 10_000;
const STOP_TIMEOUT_MS = 5_000;
/** Short, so that a run sees clients ended that only these limits end. All other limits are the defaults. */
const TIMEOUTS = { halfClosed: '3s', idle: '5s' };

/** A sidecar started like the image, observed only through its ports and /proc. */
export class AbuseSidecar {
  readonly pid: number;
  readonly port: number;
  readonly monitorPort: number;
  readonly #child: ChildProcess;
  readonly #processes: Processes;

  private constructor(processes: Processes, child: ChildProcess, [port = 0, monitorPort = 0]: readonly number[]) {
    this.#processes = processes;
    this.#child = child;
    this.pid = child.pid as number;
    this.port = port;
    this.monitorPort = monitorPort;
  }

  /** Resolves when it listens. Throws when it ends instead. */
  static async start(parts: SidecarParts, setting: Flood['setting']): Promise<AbuseSidecar> {
    const { processes, main, folder, upstreamPort, cgroup, core } = parts;
    const ports = await freePorts(2);
    const [port = 0, monitorPort = 0] = ports;
    const file = path.join(folder, 'sidecar.json');
    const configuration = {
      upstream: { url: `http://127.0.0.1:${upstreamPort}${APPLICATION}` },
      listen: { host: '127.0.0.1', port, ...(setting === 'tls' && { tls: certificateIn(folder) }) },
      monitor: {
        host: '127.0.0.1',
        port: monitorPort,
        ...(setting === 'monitor' && { auth: { usersFile: writeUsers(main, folder) } }),
      },
      jvm: { source: 'none' },
      stop: { delay: '0s', window: '0s', deadline: '1s' },
      timeouts: TIMEOUTS,
    };
    writeFileSync(file, JSON.stringify(configuration));
    const args = [...NODE_ARGS, main, '--config', file];
    const command: Command = { file: process.execPath, args, env: NODE_ENVIRONMENT };
    const child = processes.start(cgroup?.within(command) ?? command, core);
    const sidecar = new AbuseSidecar(processes, child, ports);
    try {
      await untilListening(port, () => hasEnded(child));
    } catch (cause) {
      const output = sidecar.lastWords;
      await sidecar.stop();
      throw new Error(`the sidecar did not start: ${output}`, { cause });
    }
    return sidecar;
  }

  get hasEnded(): boolean {
    return hasEnded(this.#child);
  }

  /** How it ended, and its last output. */
  get lastWords(): string {
    const { exitCode, signalCode } = this.#child;
    const how = signalCode === null ? `exit code ${exitCode}` : `signal ${signalCode}`;
    const lines = this.#processes.outputOf(this.#child).split('\n');
    return `${how}: ${lines.find((line) => line.startsWith('FATAL')) ?? lines.slice(-3).join(' ')}`.slice(0, 300);
  }

  /** Its metrics. */
  async scrape(): Promise<Samples> {
    const [reader = ''] = MONITOR_READERS;
    const response = await fetch(`http://127.0.0.1:${this.monitorPort}/metrics`, {
      signal: AbortSignal.timeout(SCRAPE_TIMEOUT_MS),
      headers: { Authorization: toBasic(reader, MONITOR_PASSWORD), Connection: 'close' },
    });
    if (!response.ok) throw new Error(`/metrics was answered ${response.status}`);
    return new Samples(await response.text());
  }

  async stop(): Promise<void> {
    if (!this.hasEnded) {
      const ended = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      const timer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_TIMEOUT_MS);
      await ended;
      clearTimeout(timer);
    }
    await this.#processes.stop(this.#child);
  }
}

function certificateIn(folder: string): { readonly certFile: string; readonly keyFile: string } {
  const certificates = new CertificateFolder(folder);
  return certificates.signed(certificates.authority(), { name: 'plant' });
}

/** All readers share one password, whose hash the sidecar creates. */
function writeUsers(main: string, folder: string): string {
  const options = { input: `${MONITOR_PASSWORD}\n`, encoding: 'utf8' } as const;
  const { stdout, stderr, status } = spawnSync(process.execPath, [main, 'passwd', 'reader'], options);
  if (status !== 0) throw new Error(`passwd: ${stderr}`);
  const rest = stdout.trim().slice('reader'.length);
  const file = path.join(folder, 'users');
  writeFileSync(file, MONITOR_READERS.map((name) => `${name}${rest}\n`).join(''), { mode: 0o600 });
  return file;
}
