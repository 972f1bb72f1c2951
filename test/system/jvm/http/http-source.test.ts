/** What a source over HTTP does with servers that hang, lie, wander off, or refuse; and that it never tells its password. */

import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it } from 'vitest';
import { createCredentialsReader } from '../../../../src/jvm/http/credentials.ts';
import { type HttpKind, HttpSource, type HttpSourceOptions } from '../../../../src/jvm/http/http-source.ts';
import { JOLOKIA } from '../../../../src/jvm/http/jolokia.ts';
import { PROMETHEUS } from '../../../../src/jvm/http/prometheus.ts';
import { TOMCAT_JMXPROXY } from '../../../../src/jvm/http/tomcat-jmxproxy.ts';
import { TOMCAT_STATUS } from '../../../../src/jvm/http/tomcat-status.ts';
import { WILDFLY } from '../../../../src/jvm/http/wildfly.ts';
import type { JvmSource } from '../../../../src/jvm/jvm-source.ts';
import { ManualClock } from '../../../support/clock.ts';
import { type Script, type ScriptedServer, startScripted } from '../../../support/jvm/http/scripted-server.ts';
import { credentialsOf, failureOf, soon } from '../../../support/jvm/http/sources.ts';

const FIXTURES = new URL('../../../fixtures/jvm/http/', import.meta.url);
const fixture = (file: string) => readFileSync(new URL(file, FIXTURES), 'utf8');
const STATUS = fixture('tomcat-jmxproxy/status-json.txt');
const DEADLINE_MS = 150;
/** For what is answered at once, however busy the machine is. */
const PATIENCE_MS = 5_000;
const PLANTED = 'planted-password';
const PLANTED_BASIC = Buffer.from(`monitor:${PLANTED}`).toString('base64');

const KINDS: readonly HttpKind[] = [TOMCAT_JMXPROXY, TOMCAT_STATUS, JOLOKIA, PROMETHEUS, WILDFLY];

/** Sends `chunk` again and again as fast as it is taken, until the peer is gone. Counts what was written. */
class Flood {
  bytes = 0;
  readonly #chunk: Buffer;

  constructor(chunk: string) {
    this.#chunk = Buffer.from(chunk);
  }

  readonly script: Script = (_, response) => {
    const pump = () => {
      while (!response.destroyed && this.bytes < 100 * 1024 * 1024) {
        this.bytes += this.#chunk.length;
        if (!response.write(this.#chunk)) return void response.once('drain', pump);
      }
      response.end();
    };
    pump();
  };
}

function drip(response: ServerResponse, text: string): void {
  const timer = setInterval(() => response.write(text), 5);
  response.on('close', () => clearInterval(timer));
}

let server: ScriptedServer | undefined;
let folder: string | undefined;

afterEach(async () => {
  await server?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

async function start(script: Script): Promise<ScriptedServer> {
  server = await startScripted(script);
  return server;
}

function optionsFor(origin: string, options: Partial<HttpSourceOptions> = {}): HttpSourceOptions {
  return { url: origin, clock: new ManualClock(), credentials: credentialsOf('monitor', PLANTED), ...options };
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

describe('a bad server', () => {
  const BAD: readonly (readonly [string, Script, string])[] = [
    ['never answers', () => undefined, 'D2S_ERR_JVM_TIMEOUT'],
    ['never ends its answer', (_, response) => void response.write('{'), 'D2S_ERR_JVM_TIMEOUT'],
    ['drips', (_, response) => drip(response, ' '), 'D2S_ERR_JVM_TIMEOUT'],
    ['drips its head', (_, response) => drip(response.socket as never, 'a'), 'D2S_ERR_JVM_FORMAT'],
    ['answers 100 MB of JSON', (...both) => new Flood('['.repeat(65_536)).script(...both), 'D2S_ERR_JVM_FORMAT'],
    ['answers 100 MB of text', (...both) => new Flood('jvm_x 1\n'.repeat(8192)).script(...both), 'D2S_ERR_JVM_FORMAT'],
    ['closes at once', (_, response) => response.destroy(), 'D2S_ERR_JVM_UNREACHABLE'],
    [
      'closes in the middle',
      (_, response) => {
        response.writeHead(200, { 'content-length': 100 }).write('{"a":');
        setImmediate(() => response.destroy());
      },
      'D2S_ERR_JVM_UNREACHABLE',
    ],
    ['answers garbage', (_, response) => response.end('\u0000\ufffd{]'), 'D2S_ERR_JVM_FORMAT'],
    ['answers nothing', (_, response) => response.end(), 'D2S_ERR_JVM_FORMAT'],
    ['answers a page', (_, response) => response.end('<html><form action=login>'), 'D2S_ERR_JVM_FORMAT'],
    ['answers deep JSON', (_, response) => response.end('{"a":'.repeat(90_000)), 'D2S_ERR_JVM_FORMAT'],
    ['answers null', (_, response) => response.end('null\n'), 'D2S_ERR_JVM_FORMAT'],
    ['speaks no HTTP', (_, response) => void response.socket?.end('SSH-2.0-x\r\n'), 'D2S_ERR_JVM_FORMAT'],
    ['redirects', (_, response) => response.writeHead(302, { location: '/elsewhere' }).end(), 'D2S_ERR_JVM_FORMAT'],
    ['is forbidden', (_, response) => response.writeHead(403).end(), 'D2S_ERR_JVM_ACCESS'],
    ['knows nothing', (_, response) => response.writeHead(404).end(), 'D2S_ERR_JVM_NOT_FOUND'],
    ['is starting', (_, response) => response.writeHead(503).end(), 'D2S_ERR_JVM_UNREACHABLE'],
    ['fails', (_, response) => response.writeHead(500).end('{"failure":1}'), 'D2S_ERR_JVM_FORMAT'],
    ['refuses the login', (_, response) => response.writeHead(401).end(), 'D2S_ERR_JVM_ACCESS'],
    [
      'packs its answer',
      (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(STATUS),
      'D2S_ERR_JVM_FORMAT',
    ],
  ];

  describe.each(KINDS)('of $name', (kind) => {
    it.each(BAD)('that %s causes an error in time, and leaves nothing open', async (_what, script, code) => {
      const { origin, requests, sockets } = await start(script);
      const began = performance.now();
      const deadlineMs = code === 'D2S_ERR_JVM_TIMEOUT' ? DEADLINE_MS : PATIENCE_MS;
      const failure = await failureOf(new HttpSource(kind, optionsFor(origin)).read(AbortSignal.timeout(deadlineMs)));
      expect(failure.code).toBe(code);
      expect(performance.now() - began).toBeLessThan(PATIENCE_MS);
      expect(requests.length).toBeLessThanOrEqual(1);
      const told = inspect(failure, { depth: 10, showHidden: true });
      expect(told).not.toContain(PLANTED);
      expect(told).not.toContain(PLANTED_BASIC);
      await expect.poll(() => sockets.size, { interval: 2 }).toBe(0);
    });
  });

  it('receives an endless answer only up to a few buffers', async () => {
    const flood = new Flood('x'.repeat(16 * 1024));
    const { origin, sockets } = await start(flood.script);
    await failureOf(new HttpSource(JOLOKIA, optionsFor(origin)).read(soon()));
    await expect.poll(() => sockets.size, { interval: 2 }).toBe(0);
    expect(flood.bytes).toBeLessThan(20 * 1024 * 1024);
  });

  it('is reported as unreachable when nothing listens there', async () => {
    const { origin, close } = await start(() => undefined);
    await close();
    const failure = await failureOf(new HttpSource(TOMCAT_STATUS, optionsFor(origin)).read(soon()));
    expect([failure.code, failure.message]).toEqual([
      'D2S_ERR_JVM_UNREACHABLE',
      `${origin}/manager/status refused the connection (ECONNREFUSED). Is the server up, and the port right?`,
    ]);
  });

  it('costs no memory over 300 failed readings', async () => {
    const { origin } = await start((_, response) => response.end(`[${'0,'.repeat(100_000)}0]`));
    const source = new HttpSource(JOLOKIA, optionsFor(origin));
    const grownBy = async (readings: number) => {
      collectGarbage();
      const before = process.memoryUsage().heapUsed;
      for (let reading = 0; reading < readings; reading += 1) await failureOf(source.read(soon()));
      collectGarbage();
      return process.memoryUsage().heapUsed - before;
    };
    await grownBy(50);
    // 200 KB for each reading would be 60 MB.
    expect(await grownBy(300)).toBeLessThan(10 * 1024 * 1024);
  }, 20_000);

  it('loses its connection when the source is closed', async () => {
    const { origin, sockets } = await start(() => source.close());
    const source: JvmSource = new HttpSource(TOMCAT_STATUS, optionsFor(origin));
    expect((await failureOf(source.read(soon()))).code).toBe('D2S_ERR_JVM_UNREACHABLE');
    await expect.poll(() => sockets.size, { interval: 2 }).toBe(0);
  });
});

describe('a request', () => {
  it('goes only to the configured address, with Basic and without an Origin', async () => {
    const { origin, requests } = await start((_, response) => response.end(STATUS));
    const reading = await new HttpSource(TOMCAT_STATUS, optionsFor(`${origin}/ops/manager/`)).read(soon());
    expect(reading.heap.max).toBe(268435456);
    expect(requests).toHaveLength(1);
    const [{ method, url, headers }] = requests as [ScriptedServer['requests'][number]];
    expect([method, url]).toEqual(['GET', '/ops/manager/status?JSON=true']);
    expect(headers.authorization).toBe(`Basic ${PLANTED_BASIC}`);
    expect(headers).not.toHaveProperty('origin');
    expect(headers['accept-encoding']).toBe('identity');
  });

  it('does not report the query of the configured address when it fails', async () => {
    const { origin, requests } = await start((_, response) => response.writeHead(404).end());
    const failure = await failureOf(
      new HttpSource(PROMETHEUS, optionsFor(`${origin}/metrics?token=${PLANTED}`)).read(soon()),
    );
    expect(requests[0]?.url).toBe(`/metrics?token=${PLANTED}`);
    expect(failure.message).toContain(`${origin}/metrics answered 404`);
    expect(inspect(failure)).not.toContain(PLANTED);
  });
});

describe('a login that is refused', () => {
  const refuse: Script = ({ headers }, response) => {
    const isRight = headers.authorization === `Basic ${Buffer.from('monitor:right').toString('base64')}`;
    if (isRight) response.end(STATUS);
    else response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end('<html>'.repeat(100_000));
  };

  it('is retried after 60 s, then 120, 240, 480, and finally every 15 minutes', async () => {
    const { origin, requests } = await start(refuse);
    const clock = new ManualClock();
    const source = new HttpSource(TOMCAT_STATUS, optionsFor(origin, { clock }));
    const triedAtS: number[] = [];
    for (let second = 0; second <= 3600; second += 20) {
      const before = requests.length;
      expect((await failureOf(source.read(soon()))).code).toBe('D2S_ERR_JVM_ACCESS');
      if (requests.length > before) triedAtS.push(second);
      clock.advanceS(20);
    }
    expect(triedAtS).toEqual([0, 60, 180, 420, 900, 1800, 2700, 3600]);
  });

  it('reports when it is retried, with the same message until then', async () => {
    const { origin } = await start(refuse);
    const clock = new ManualClock();
    const source = new HttpSource(TOMCAT_STATUS, optionsFor(origin, { clock }));
    const { message } = await failureOf(source.read(soon()));
    const until = new Date(clock.epochMs() + 60_000).toISOString();
    expect(message).toContain(`${origin}/manager/status refused the user or the password (401)`);
    expect(message).toContain(`not tried again before ${until}`);
    clock.advanceS(59);
    expect((await failureOf(source.read(soon()))).message).toBe(message);
  });

  it('is retried at once when the password file has changed, and resets after a success', async () => {
    folder = await mkdtemp(join(tmpdir(), 'd2s-login-'));
    const passwordFile = join(folder, 'password');
    await writeFile(passwordFile, PLANTED, { mode: 0o600 });
    const logger = { warn: () => undefined };
    const credentials = createCredentialsReader({ username: 'monitor', passwordFile, env: {}, logger });
    const { origin, requests } = await start(refuse);
    const source = new HttpSource(TOMCAT_STATUS, optionsFor(origin, { credentials }));
    await failureOf(source.read(soon()));
    await failureOf(source.read(soon()));
    expect(requests).toHaveLength(1);
    await writeFile(passwordFile, 'right');
    expect((await source.read(soon())).heap.max).toBe(268435456);
    await writeFile(passwordFile, PLANTED);
    await failureOf(source.read(soon()));
    await failureOf(source.read(soon()));
    expect(requests).toHaveLength(3);
  });

  it('names the key to set if no user is configured', async () => {
    const { origin, requests } = await start(refuse);
    const source = new HttpSource(TOMCAT_STATUS, optionsFor(origin, { credentials: async () => undefined }));
    const { code, message } = await failureOf(source.read(soon()));
    expect([code, message]).toEqual(['D2S_ERR_JVM_ACCESS', expect.stringContaining('set jvm.http.username')]);
    expect(requests[0]?.headers).not.toHaveProperty('authorization');
  });

  it('by a server without Digest makes WildFly’s source stop without sending a password', async () => {
    const { origin, requests } = await start(refuse);
    const { message } = await failureOf(new HttpSource(WILDFLY, optionsFor(origin)).read(soon()));
    expect(message).toContain('does not offer Digest with MD5 or SHA-256');
    expect(requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });
});

describe('TLS', () => {
  const CA_FILE = new URL('tls/authority.pem', FIXTURES).pathname;
  const TLS = { key: fixture('tls/server-key.pem'), cert: fixture('tls/server.pem') };
  const answer: Script = (_, response) => response.end(STATUS);

  it('accepts a certificate of the configured authority for the configured name', async () => {
    server = await startScripted(answer, TLS);
    const tls = { caFile: CA_FILE, serverName: 'jvm.example' };
    expect((await new HttpSource(TOMCAT_STATUS, optionsFor(server.origin, { tls })).read(soon())).heap.max).toBe(
      268435456,
    );
  });

  it.each([
    ['of an unknown authority', { serverName: 'jvm.example' }, 'jvm.http.caFile'],
    ['for another name', { caFile: CA_FILE }, 'jvm.http.serverName'],
  ])('refuses a certificate %s, names the key to set, and sends nothing', async (_, tls, key) => {
    server = await startScripted(answer, TLS);
    const failure = await failureOf(new HttpSource(TOMCAT_STATUS, optionsFor(server.origin, { tls })).read(soon()));
    expect([failure.code, failure.message]).toEqual(['D2S_ERR_JVM_UNREACHABLE', expect.stringContaining(key)]);
    expect(server.requests).toEqual([]);
  });

  it('reports that the file of the authority is missing', async () => {
    server = await startScripted(answer, TLS);
    const tls = { caFile: '/nowhere/authority.pem' };
    const failure = await failureOf(new HttpSource(TOMCAT_STATUS, optionsFor(server.origin, { tls })).read(soon()));
    expect([failure.code, failure.message]).toEqual(['D2S_ERR_JVM_ACCESS', expect.stringContaining('(ENOENT)')]);
  });

  it('reports that a server does not speak TLS', async () => {
    const { origin } = await start(answer);
    const failure = await failureOf(
      new HttpSource(TOMCAT_STATUS, optionsFor(origin.replace('http', 'https'))).read(soon()),
    );
    expect([failure.code, failure.message]).toEqual(['D2S_ERR_JVM_UNREACHABLE', expect.stringContaining('TLS')]);
  });
});
