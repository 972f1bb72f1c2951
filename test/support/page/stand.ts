/** The built sidecar with an upstream and a JVM that can be stopped and restarted. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Pool } from 'undici';
import { basic } from '../monitor/access/access-files.ts';
import { type SidecarProcess, startSidecarProcess } from '../sidecar-process.ts';
import { createJvm, createUpstream, type RestartableServer } from './upstream.ts';

export const APPLICATION = 'smartWeb';

export interface HarnessOptions {
  readonly config?: Readonly<Record<string, unknown>>;
  readonly upstreamPort?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Whether the monitoring port has TLS, by the configuration. Default false. */
  readonly isSecure?: boolean;
  readonly hasJvm?: boolean;
}

export interface Call {
  readonly path: string;
  readonly user: string;
  readonly method?: 'GET' | 'POST';
  /** Default: the harness's. */
  readonly application?: string;
}

export class Harness {
  readonly upstream: RestartableServer = createUpstream();
  readonly jvm: RestartableServer = createJvm();
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'd2s-page-'));
  readonly #options: HarnessOptions;
  #sidecar: SidecarProcess | undefined;
  #clients: Pool | undefined;
  #addresses = { listen: '127.0.0.1:0', monitor: '127.0.0.1:0' };

  static async start(options: HarnessOptions = {}): Promise<Harness> {
    const harness = new Harness(options);
    await harness.upstream.start();
    if (options.hasJvm === true) await harness.jvm.start();
    await harness.startSidecar();
    return harness;
  }

  private constructor(options: HarnessOptions) {
    this.#options = options;
  }

  get clientUrl(): string {
    return `http://${this.#addresses.listen}/${APPLICATION}`;
  }

  get url(): string {
    return `${this.#options.isSecure === true ? 'https' : 'http'}://${this.#addresses.monitor}/`;
  }

  async startSidecar(): Promise<void> {
    const { hasJvm = false, upstreamPort = this.upstream.port, config, env } = this.#options;
    const http = { kind: 'prometheus', url: `http://127.0.0.1:${this.jvm.port}/metrics` };
    const jvm = hasJvm ? { source: 'http', interval: '1s', staleAfter: '2s', http } : { source: 'none' };
    const file = path.join(this.#folder, 'sidecar.json');
    const upstream = { url: `http://127.0.0.1:${upstreamPort}/${APPLICATION}` };
    writeFileSync(file, JSON.stringify({ upstream, jvm, ...config }));
    const { listen, monitor } = this.#addresses;
    this.#sidecar = await startSidecarProcess(['--config', file, '--listen', listen, '--monitor', monitor], env);
    this.#addresses = { listen: this.#sidecar.listen, monitor: this.#sidecar.monitor };
    this.#clients = new Pool(`http://${this.#sidecar.listen}`, { connections: 32 });
  }

  askToStop(): void {
    if (this.#sidecar !== undefined) process.kill(this.#sidecar.pid, 'SIGTERM');
  }

  async stopSidecar(signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
    await this.#clients?.destroy();
    await this.#sidecar?.stop(signal);
  }

  async call({ path: below, user, method = 'POST', application = APPLICATION }: Call): Promise<number> {
    const headers = { authorization: basic(user, 'x'), 'content-type': 'application/json' };
    const { statusCode, body } = await this.#clients!.request({
      ...{ path: `/${application}/api/rest/v0/d2/${below}`, method, headers },
      body: method === 'POST' ? '[]' : null,
    });
    await body.dump();
    return statusCode;
  }

  /** `each` for 0 to `count`, many at a time, in order of their start. */
  async callMany(count: number, each: (index: number) => Call): Promise<void> {
    let next = 0;
    const work = async () => {
      while (next < count) {
        next += 1;
        await this.call(each(next - 1));
      }
    };
    await Promise.all(Array.from({ length: 32 }, work));
  }

  async stop(): Promise<void> {
    await this.stopSidecar();
    await this.upstream.stop();
    await this.jvm.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
