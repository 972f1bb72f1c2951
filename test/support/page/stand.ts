/** The built sidecar with an upstream and a JVM that can be stopped and restarted. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Pool } from 'undici';
import { type Defer, temporaryFolder } from '../deferred.ts';
import { basic } from '../monitor/access/access-files.ts';
import { type Application, startApplication } from '../net.ts';
import { type SidecarProcess, startSidecarProcess } from '../sidecar-process.ts';

const APPLICATION = 'smartWeb';
/** Of a call with `Slow` in its name. */
const SLOW_MS = 400;
const JVM = readFileSync(new URL('../../fixtures/jvm/http/prometheus/client-java-1.txt', import.meta.url));

export interface HarnessOptions {
  readonly config?: Readonly<Record<string, unknown>>;
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
  readonly upstream: Application;
  readonly jvm: Application;
  readonly #file: string;
  readonly #options: HarnessOptions;
  #sidecar: SidecarProcess | undefined;
  #clients: Pool | undefined;
  #addresses = { listen: '127.0.0.1:0', monitor: '127.0.0.1:0' };

  static async start(defer: Defer, options: HarnessOptions = {}): Promise<Harness> {
    const upstream = await startApplication(({ headers, url = '' }, response) => {
      // It is answered when its client leaves.
      if (url.includes('Holds')) return;
      response.statusCode = headers.authorization === undefined ? 404 : url.includes('Fails') ? 500 : 200;
      response.setHeader('content-type', 'application/json');
      setTimeout(() => response.end('{}'), url.includes('Slow') ? SLOW_MS : 0);
    }, defer);
    const jvm = await startApplication((_request, response) => response.end(JVM), defer);
    const harness = new Harness(options, upstream, jvm, path.join(temporaryFolder(defer), 'sidecar.json'));
    defer(() => harness.stopSidecar());
    await harness.startSidecar();
    return harness;
  }

  private constructor(options: HarnessOptions, upstream: Application, jvm: Application, file: string) {
    this.#options = options;
    this.upstream = upstream;
    this.jvm = jvm;
    this.#file = file;
  }

  /** Where clients call, `host:port`. */
  get listen(): string {
    return this.#addresses.listen;
  }

  get url(): string {
    return `${this.#options.isSecure === true ? 'https' : 'http'}://${this.#addresses.monitor}/`;
  }

  async startSidecar(): Promise<void> {
    const { hasJvm = false, config, env } = this.#options;
    const http = { kind: 'prometheus', url: `http://127.0.0.1:${this.jvm.port}/metrics` };
    const jvm = hasJvm ? { source: 'http', interval: '1s', staleAfter: '2s', http } : { source: 'none' };
    const upstream = { url: `http://127.0.0.1:${this.upstream.port}/${APPLICATION}` };
    writeFileSync(this.#file, JSON.stringify({ upstream, jvm, ...config }));
    const { listen, monitor } = this.#addresses;
    this.#sidecar = await startSidecarProcess(['--config', this.#file, '--listen', listen, '--monitor', monitor], env);
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
}
