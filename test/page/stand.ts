/** The built sidecar before an upstream that comes and goes, with a JVM that comes and goes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Pool } from 'undici';
import { type SidecarProcess, startSidecarProcess } from '../system/sidecar-process.ts';
import { type ComingAndGoing, createJvm, createUpstream } from './upstream.ts';

export const APPLICATION = 'smartWeb';

export interface StandOptions {
  /** More of the configuration, besides addresses. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Another upstream than that of this stand, by its port. */
  readonly upstreamPort?: number;
  /** In the environment of the sidecar. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether the monitoring port has TLS, by the configuration. Default false. */
  readonly isSecure?: boolean;
  /** Whether the JVM is read. Default false. */
  readonly hasJvm?: boolean;
}

export interface Call {
  readonly path: string;
  readonly user: string;
  readonly method?: 'GET' | 'POST';
  /** Default: that of the stand. */
  readonly application?: string;
}

export class Stand {
  readonly upstream: ComingAndGoing = createUpstream();
  readonly jvm: ComingAndGoing = createJvm();
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'd2s-page-'));
  readonly #options: StandOptions;
  #sidecar: SidecarProcess | undefined;
  #clients: Pool | undefined;
  /** After the first start: the same again. */
  #addresses = { listen: '127.0.0.1:0', monitor: '127.0.0.1:0' };

  static async start(options: StandOptions = {}): Promise<Stand> {
    const stand = new Stand(options);
    await stand.upstream.come();
    if (options.hasJvm === true) await stand.jvm.come();
    await stand.startSidecar();
    return stand;
  }

  private constructor(options: StandOptions) {
    this.#options = options;
  }

  /** Where clients call the application. */
  get clientUrl(): string {
    return `http://${this.#addresses.listen}/${APPLICATION}`;
  }

  get url(): string {
    return `${this.#options.isSecure === true ? 'https' : 'http'}://${this.#addresses.monitor}/`;
  }

  /** On the ports that it had, if it ran before. */
  async startSidecar(): Promise<void> {
    const jvm =
      this.#options.hasJvm === true
        ? {
            source: 'http',
            interval: '1s',
            staleAfter: '2s',
            http: { kind: 'prometheus', url: `http://127.0.0.1:${this.jvm.port}/metrics` },
          }
        : { source: 'none' };
    const file = path.join(this.#folder, 'sidecar.json');
    writeFileSync(file, JSON.stringify({ jvm, ...this.#options.config }));
    const { listen, monitor } = this.#addresses;
    const upstream = `http://127.0.0.1:${this.#options.upstreamPort ?? this.upstream.port}/${APPLICATION}`;
    this.#sidecar = await startSidecarProcess(
      ['--config', file, '--upstream', upstream, '--listen', listen, '--monitor', monitor],
      this.#options.env,
    );
    this.#addresses = { listen: this.#sidecar.listen, monitor: this.#sidecar.monitor };
    this.#clients = new Pool(`http://${this.#sidecar.listen}`, { connections: 32 });
  }

  /** Asks it to stop, and does not wait. */
  askToStop(): void {
    if (this.#sidecar !== undefined) process.kill(this.#sidecar.pid, 'SIGTERM');
  }

  async stopSidecar(signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
    await this.#clients?.destroy();
    await this.#sidecar?.stop(signal);
  }

  /** Gives the status. */
  async call({ path: below, user, method = 'POST', application = APPLICATION }: Call): Promise<number> {
    const clients = this.#clients;
    if (clients === undefined) throw new Error('the stand has not been started');
    const authorization = `Basic ${Buffer.from(`${user}:x`).toString('base64')}`;
    const { statusCode, body } = await clients.request({
      path: `/${application}/api/rest/v0/d2/${below}`,
      method,
      headers: { authorization, ...(method === 'POST' ? { 'content-type': 'application/json' } : {}) },
      ...(method === 'POST' ? { body: '[]' } : {}),
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
    await this.upstream.go();
    await this.jvm.go();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
