/** What a source over HTTP does with servers that hang, lie, wander off, or refuse; and that it never tells its password. */
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { ServerOptions } from 'node:https';
import { inspect } from 'node:util';
import { brotliCompressSync, deflateSync } from 'node:zlib';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type HttpKind, HttpSource, type HttpSourceOptions } from '../../../../src/jvm/http/http-source.ts';
import { JOLOKIA } from '../../../../src/jvm/http/jolokia.ts';
import { PROMETHEUS } from '../../../../src/jvm/http/prometheus.ts';
import { createCredentialsReader } from '../../../../src/jvm/http/server-credentials.ts';
import { TOMCAT_JMXPROXY } from '../../../../src/jvm/http/tomcat-jmxproxy.ts';
import { TOMCAT_STATUS } from '../../../../src/jvm/http/tomcat-status.ts';
import { WILDFLY } from '../../../../src/jvm/http/wildfly.ts';
import { ManualClock } from '../../../support/clock.ts';
import { Flood, type Script, type ScriptedServer, startScripted } from '../../../support/jvm/http/scripted-server.ts';
import { credentialsOf, failureOf, soon } from '../../../support/jvm/http/sources.ts';
import { Folder } from '../../../support/monitor/access/access-files.ts';

const FIXTURES = new URL('../../../fixtures/jvm/http/', import.meta.url);
const fixture = (file: string) => readFileSync(new URL(file, FIXTURES), 'utf8');
const STATUS = fixture('tomcat-jmxproxy/status-json.txt');
/** The maximum of the heap in that answer. */
const MAX_HEAP = 268_435_456;
const DEADLINE_MS = 150;
/** For what is answered at once, however busy the machine is. */
const PATIENCE_MS = 5_000;
const PLANTED = 'planted-password';
const PLANTED_BASIC = Buffer.from(`monitor:${PLANTED}`).toString('base64');

const KINDS: readonly HttpKind[] = [TOMCAT_JMXPROXY, TOMCAT_STATUS, JOLOKIA, PROMETHEUS, WILDFLY];

let server: ScriptedServer;
afterEach(() => server.close());

async function start(script: Script, tls?: ServerOptions): Promise<void> {
  server = await startScripted(script, tls);
}

function sourceOf(kind: HttpKind, options: Partial<HttpSourceOptions> = {}): HttpSource {
  const credentials = credentialsOf('monitor', PLANTED);
  return new HttpSource(kind, { url: server.origin, clock: new ManualClock(), credentials, ...options });
}

const answerStatus: Script = (_, response) => response.end(STATUS);
const answerPacked: Script = (_, response) => response.setHeader('content-encoding', 'gzip').end(STATUS);

/** The code and message of a reading that fails. */
async function tellOf(source: HttpSource): Promise<string> {
  const { code, message } = await failureOf(source.read(soon()));
  return `${code} ${message}`;
}

const everythingOf = (failure: unknown) => inspect(failure, { depth: 10, showHidden: true });
const areAllClosed = () => expect.poll(() => server.sockets.size, { interval: 2 }).toBe(0);

function drip(response: Pick<ServerResponse, 'write' | 'on'>, text: string): void {
  const timer = setInterval(() => response.write(text), 5);
  response.on('close', () => clearInterval(timer));
}

const announceFlood: Script = (seen, response) => {
  response.setHeader('content-length', 100_000_000);
  new Flood('['.repeat(65_536)).script(seen, response);
};

function closeHalfWay(response: ServerResponse): void {
  response.writeHead(200, { 'content-length': 100 }).write('{"a":');
  setImmediate(() => response.destroy());
}

describe('a bad server', () => {
  const BAD: readonly (readonly [string, Script, string])[] = [
    ['never answers', () => undefined, 'D2S_ERR_JVM_TIMEOUT'],
    ['drips', (_, response) => drip(response, ' '), 'D2S_ERR_JVM_TIMEOUT'],
    ['drips its head', (_, response) => drip(response.socket as never, 'a'), 'D2S_ERR_JVM_FORMAT'],
    ['answers 100 MB of JSON', (...both) => new Flood('['.repeat(65_536)).script(...both), 'D2S_ERR_JVM_FORMAT'],
    ['announces 100 MB', announceFlood, 'D2S_ERR_JVM_FORMAT'],
    ['closes at once', (_, response) => response.destroy(), 'D2S_ERR_JVM_UNREACHABLE'],
    ['closes in the middle', (_, response) => closeHalfWay(response), 'D2S_ERR_JVM_UNREACHABLE'],
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
    ['packs its answer', answerPacked, 'D2S_ERR_JVM_FORMAT'],
  ];

  describe.each(KINDS)('of $name', (kind) => {
    it.each(BAD)('that %s causes an error in time, and leaves nothing open', async (_what, script, code) => {
      await start(script);
      const deadlineMs = code === 'D2S_ERR_JVM_TIMEOUT' ? DEADLINE_MS : PATIENCE_MS;
      const failure = await failureOf(sourceOf(kind).read(AbortSignal.timeout(deadlineMs)));
      expect(failure.code).toBe(code);
      expect(server.requests.length).toBeLessThanOrEqual(1);
      for (const secret of [PLANTED, PLANTED_BASIC]) expect(everythingOf(failure)).not.toContain(secret);
      await areAllClosed();
    });
  });

  it('loses its connection when the source is closed', async () => {
    await start(() => source.close());
    const source: HttpSource = sourceOf(TOMCAT_STATUS);
    expect(await tellOf(source)).toContain('D2S_ERR_JVM_UNREACHABLE');
    await areAllClosed();
  });
});

it('a request goes only to the configured address, with Basic and without an Origin', async () => {
  await start(answerStatus);
  const source = sourceOf(TOMCAT_STATUS, { url: `${server.origin}/ops/manager/` });
  expect((await source.read(soon())).heap.max).toBe(MAX_HEAP);
  expect(server.requests).toEqual([expect.objectContaining({ method: 'GET', url: '/ops/manager/status?JSON=true' })]);
  const { headers } = server.requests[0]!;
  expect(headers).toMatchObject({ authorization: `Basic ${PLANTED_BASIC}`, 'accept-encoding': 'identity' });
  expect(headers).not.toHaveProperty('origin');
});

it.each([
  ['br', brotliCompressSync],
  ['identity, deflate', deflateSync],
  // It is not decoded: broken bytes are refused for the same reason.
  ['br', Buffer.from],
] as const)(
  'an answer that is compressed in %s although identity was asked for is refused without decoding',
  async (coding, encode) => {
    await start((_, response) => response.setHeader('content-encoding', coding).end(encode(STATUS)));
    expect(await tellOf(sourceOf(TOMCAT_STATUS))).toBe(
      `D2S_ERR_JVM_FORMAT ${server.origin}/manager/status answered with a Content-Encoding, where identity was asked for. ` +
        'It is not decoded; switch compression off there.',
    );
    expect(server.requests[0]?.headers['accept-encoding']).toBe('identity');
    await areAllClosed();
  },
);

const THREAD_POOL = [
  'OK - Number of results: 1\r\n\r',
  'Name: Catalina:type=ThreadPool,name="http-nio-8080"\r\nname: "http-nio-8080"\r\ncurrentThreadsBusy: 3\r\n\r\n',
].join('\n');

describe('a login that is refused', () => {
  let clock: ManualClock;
  beforeEach(async () => {
    clock = new ManualClock();
    await start(({ headers }, response) => {
      const isRight = headers.authorization === `Basic ${Buffer.from('monitor:right').toString('base64')}`;
      if (isRight) response.end(STATUS);
      else response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end('<html>'.repeat(100_000));
    });
  });

  it('is retried after 60 s, then 120, 240, 480, and finally every 15 minutes, and says when', async () => {
    const source = sourceOf(TOMCAT_STATUS, { clock });
    const told = await tellOf(source);
    expect(told).toContain(`${server.origin}/manager/status refused the user or the password (401)`);
    expect(told).toContain(`not tried again before ${new Date(clock.epochMs() + 60_000).toISOString()}`);
    clock.advanceS(59);
    expect(await tellOf(source)).toBe(told);
    const triedAtS: number[] = [];
    clock.advanceS(1);
    for (let second = 60; second <= 3600; second += 20) {
      const before = server.requests.length;
      expect(await tellOf(source)).toContain('D2S_ERR_JVM_ACCESS');
      if (server.requests.length > before) triedAtS.push(second);
      clock.advanceS(20);
    }
    expect(triedAtS).toEqual([60, 180, 420, 900, 1800, 2700, 3600]);
  });

  it('is retried at once when the password file has changed, and resets after a success', async () => {
    const write = (password: string) => folder.write('password', password);
    const options = { username: 'monitor', passwordFile: write(PLANTED), env: {}, logger: { warn: () => undefined } };
    const source = sourceOf(TOMCAT_STATUS, { credentials: createCredentialsReader(options) });
    const failTwice = async () => [await tellOf(source), await tellOf(source)];
    await failTwice();
    expect(server.requests).toHaveLength(1);
    write('right');
    expect((await source.read(soon())).heap.max).toBe(MAX_HEAP);
    write(PLANTED);
    await failTwice();
    expect(server.requests).toHaveLength(3);
  });

  it('in an optional answer costs only its values, however large its body is', async () => {
    await server.close();
    const heap = fixture('tomcat-jmxproxy/memory.txt');
    await start(({ url }, response) => {
      if (url.includes('Threading')) response.writeHead(401).end(Buffer.alloc(300_000));
      else response.end(url.includes('ThreadPool') ? THREAD_POOL : heap);
    });
    const source = sourceOf(TOMCAT_JMXPROXY, { clock });
    for (let reading = 0; reading < 2; reading += 1)
      expect((await source.read(soon())).server?.connectors).toMatchObject([{ port: 8080, busyThreads: 3 }]);
  });

  it('names the key to set if no user is configured', async () => {
    const told = await tellOf(sourceOf(TOMCAT_STATUS, { credentials: async () => undefined }));
    expect(told).toMatch(/^D2S_ERR_JVM_ACCESS .*set jvm\.http\.username/);
    expect(server.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  it('by a server without Digest makes WildFly’s source stop without sending a password', async () => {
    expect(await tellOf(sourceOf(WILDFLY))).toContain('does not offer Digest with MD5 or SHA-256');
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });
});

const caFile = new URL('tls/authority.pem', FIXTURES).pathname;
const folder = new Folder();
afterAll(() => folder.remove());
const indented = folder.write('ca.pem', ` ${readFileSync(caFile, 'utf8')}`);
const TLS = { key: fixture('tls/server-key.pem'), cert: fixture('tls/server.pem') };

it.each<[string, Partial<HttpSourceOptions>, RegExp]>([
  ['of an unknown authority', { serverName: 'jvm.example' }, /^D2S_ERR_JVM_UNREACHABLE .*jvm\.http\.caFile/],
  ['for another name', { caFile }, /^D2S_ERR_JVM_UNREACHABLE .*jvm\.http\.serverName/],
  [
    'if that file is indented',
    { caFile: indented },
    /^D2S_ERR_JVM_ACCESS jvm\.http\.caFile: .*:1: BEGIN or END is ind/,
  ],
])('TLS refuses a certificate %s, names the key to set, and sends nothing', async (_, options, expected) => {
  await start(answerStatus, TLS);
  expect(await tellOf(sourceOf(TOMCAT_STATUS, options))).toMatch(expected);
  expect(server.requests).toEqual([]);
});

it('TLS accepts a certificate of the configured authority, and reports that a server does not speak TLS', async () => {
  await start(answerStatus, TLS);
  const source = sourceOf(TOMCAT_STATUS, { caFile, serverName: 'jvm.example' });
  expect((await source.read(soon())).heap.max).toBe(MAX_HEAP);
  await server.close();
  await start(answerStatus);
  const plain = sourceOf(TOMCAT_STATUS, { url: server.origin.replace('http', 'https') });
  expect(await tellOf(plain)).toMatch(/^D2S_ERR_JVM_UNREACHABLE .*TLS/);
});
