/** The built sidecar with an upstream and a JVM that can be stopped and restarted. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Pool } from 'undici';
import { type Defer, temporaryFolder } from '../deferred.ts';
import { basic } from '../monitor/access/access-files.ts';
import { startApplication } from '../net.ts';
import { startSidecarProcess } from '../sidecar-process.ts';

const APPLICATION = 'smartWeb';
const JVM = readFileSync(new URL('../../fixtures/jvm/http/prometheus/client-java-1.txt', import.meta.url));

export interface HarnessOptions {
  readonly config?: Readonly<Record<string, unknown>>;
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

export type Harness = Awaited<ReturnType<typeof startHarness>>;

export async function startHarness(defer: Defer, options: HarnessOptions = {}) {
  const { hasJvm = false, isSecure = false, config } = options;
  const upstream = await startApplication(({ headers, url = '' }, response) => {
    response.statusCode = headers.authorization === undefined ? 404 : url.includes('Fails') ? 500 : 200;
    response.setHeader('content-type', 'application/json');
    response.end('{}');
  }, defer);
  const jvm = await startApplication((_request, response) => response.end(JVM), defer);
  const http = { kind: 'prometheus', url: `http://127.0.0.1:${jvm.port}/metrics` };
  const all = {
    upstream: { url: `http://127.0.0.1:${upstream.port}/${APPLICATION}` },
    jvm: hasJvm ? { source: 'http', interval: '1s', staleAfter: '2s', http } : { source: 'none' },
    ...config,
  };
  const file = path.join(temporaryFolder(defer), 'sidecar.json');
  writeFileSync(file, JSON.stringify(all));
  const startOn = (listen: string, monitor: string) =>
    startSidecarProcess(['--config', file, '--listen', listen, '--monitor', monitor]);
  let sidecar = await startOn('127.0.0.1:0', '127.0.0.1:0');
  defer(() => sidecar.stop('SIGINT'));
  const { listen, monitor } = sidecar;
  const clients = new Pool(`http://${listen}`, { connections: 32 });
  defer(() => clients.destroy());

  const call = async ({ path: below, user, method = 'POST', application = APPLICATION }: Call): Promise<number> => {
    const headers = { authorization: basic(user, 'x'), 'content-type': 'application/json' };
    const { statusCode, body } = await clients.request({
      ...{ path: `/${application}/api/rest/v0/d2/${below}`, method, headers },
      body: method === 'POST' ? '[]' : null,
    });
    await body.dump();
    return statusCode;
  };
  /** `each` for 0 to `count`, many at a time, in order of their start. */
  const callMany = async (count: number, each: (index: number) => Call): Promise<void> => {
    let next = 0;
    const work = async () => {
      while (next < count) {
        next += 1;
        await call(each(next - 1));
      }
    };
    await Promise.all(Array.from({ length: 32 }, work));
  };
  return {
    ...{ upstream, jvm, call, callMany },
    /** Where clients call, `host:port`. */
    listen,
    url: `${isSecure ? 'https' : 'http'}://${monitor}/`,
    stopSidecar: (signal: NodeJS.Signals) => sidecar.stop(signal),
    /** On its old ports. */
    startSidecar: async () => {
      sidecar = await startOn(listen, monitor);
    },
  };
}
