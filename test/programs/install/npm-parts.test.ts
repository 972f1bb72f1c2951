/**
 * Each file of the installed package is loaded by a user's action, and nothing is loaded from elsewhere: Node.js lists the
 * loaded files for NODE_V8_COVERAGE. So no lazily loaded part can be missing.
 */
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import forge from 'node-forge';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deferTo } from '../../support/deferred.ts';
import { collect } from '../../support/install/run.ts';
import { listening, portOf } from '../../support/net.ts';
import { CertificateFolder } from '../../support/tls/certificates.ts';
import { InstalledPackage } from './installed-package.ts';

const SLOW_MS = 300_000;
const FREE = ['--listen', '127.0.0.1:0', '--monitor', '127.0.0.1:0'];
const JVM = 'jvm_memory_used_bytes{area="heap"} 1.0\njvm_classes_currently_loaded 7.0\n';

/** The application server, the receiver of OTLP and the JVM's metrics in one; records its requests. */
class Upstream {
  readonly asked: string[] = [];
  readonly #server = http.createServer((request, response) => {
    this.asked.push(`${request.method} ${request.url}`);
    request.resume();
    if (request.url === '/metrics') response.setHeader('content-type', 'text/plain; version=0.0.4');
    response.end(request.url === '/metrics' ? JVM : '');
  });

  async open(): Promise<string> {
    return `http://127.0.0.1:${await listening(this.#server)}`;
  }

  async hasBeenAsked(what: string): Promise<void> {
    while (!this.asked.includes(what)) await once(this.#server, 'request');
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

function createPfx(): { readonly pem: string; readonly pfx: Buffer } {
  const { publicKey, privateKey } = forge.pki.rsa.generateKeyPair(2_048);
  const certificate = forge.pki.createCertificate();
  const name = [{ name: 'commonName', value: 'localhost' }];
  certificate.publicKey = publicKey;
  certificate.serialNumber = '01';
  certificate.validity.notBefore = new Date(Date.now() - 86_400_000);
  certificate.validity.notAfter = new Date(Date.now() + 86_400_000);
  certificate.setSubject(name);
  certificate.setIssuer(name);
  certificate.setExtensions([{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }]);
  certificate.sign(privateKey, forge.md.sha256.create());
  const made = forge.pkcs12.toPkcs12Asn1(privateKey, [certificate], 'word of the key');
  return {
    pem: forge.pki.certificateToPem(certificate),
    pfx: Buffer.from(forge.asn1.toDer(made).getBytes(), 'latin1'),
  };
}

const defer = deferTo(afterAll);
const installed = new InstalledPackage(defer);
const coverage = path.join(installed.folder, 'coverage');
const certificates = new CertificateFolder();
defer(() => certificates.remove());
const upstream = new Upstream();
let origin: string;
beforeAll(async () => {
  await installed.install();
  mkdirSync(coverage);
  origin = await upstream.open();
  defer(() => upstream.close());
}, SLOW_MS);

const env = { NODE_V8_COVERAGE: coverage };
const run = (...args: readonly string[]) => installed.run(args, { env });
const start = (args: readonly string[], more = {}) => installed.start(args, { env: { ...env, ...more } });
const expectCode = async (code: number, ...args: readonly string[]) => {
  expect(await run(...args), args.join(' ')).toMatchObject({ code });
};

function write(name: string, content: unknown): string {
  const file = path.join(installed.folder, name);
  const isBytes = typeof content === 'string' || Buffer.isBuffer(content);
  // JSON is YAML.
  writeFileSync(file, isBytes ? content : JSON.stringify(content), { mode: 0o600 });
  return file;
}

async function textOf(url: string): Promise<string> {
  const response = await fetch(url);
  expect(response.status, url).toBe(200);
  return await response.text();
}

/** HTTP/1.0 is for the gateway. */
async function askAsOldClient(address: string): Promise<string> {
  const socket = net.connect(portOf(address), '127.0.0.1');
  const received = collect(socket);
  socket.end('GET /smartWeb/old HTTP/1.0\r\n\r\n');
  await once(socket, 'close');
  return received();
}

describe('the installed package', { timeout: SLOW_MS }, () => {
  it('prints its help and version, checks a configuration and creates credentials', async () => {
    const all = write('all.yaml', { upstream: { url: `${origin}/smartWeb` } });
    expect((await run('--help')).stdout).toContain('d2-sidecar check');
    await expectCode(0, '--version');
    expect(await run('check', '--config', all)).toMatchObject({ code: 0, stderr: '' });
    await expectCode(64, 'check', '--config', write('odd.yaml', { upstrem: {} }));
    await expectCode(0, 'passwd', 'reader', '--token', '--file', path.join(installed.folder, 'tokens'));
    await expectCode(1, 'health');
    await expectCode(0, 'learn', '--minutes', '0.001', '--upstream', `${origin}/smartWeb`, ...FREE);
  });

  it('serves with every optional feature on, and answers its commands', async () => {
    const accessLog = path.join(installed.folder, 'access.log');
    const state = path.join(installed.folder, 'state/numbers');
    mkdirSync(path.dirname(state), { mode: 0o700 });
    const file = write('sidecar.yaml', {
      upstream: { url: `${origin}/smartWeb` },
      jvm: { http: { kind: 'prometheus', url: `${origin}/metrics` } },
      otlp: {
        ...{ endpoint: origin, timeout: '500ms', metrics: { interval: '1s' } },
        traces: { enabled: true, sampleRatio: 1 },
      },
      accessLog: { file: accessLog, others: true },
      state: { file: state },
    });
    const sidecar = await start(['--config', file, ...FREE], { NOTIFY_SOCKET: '/nowhere' });
    const { listen, monitor } = sidecar;
    const post = (target: string, body = '') =>
      fetch(`http://${listen}/smartWeb/api/${target}`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body },
      });
    expect((await post('rest/v0/d2/rpc/E.Demo/TestInOut')).status).toBe(200);
    await post('cometd', '[{"channel":"/meta/handshake"}]');
    expect(await askAsOldClient(listen)).toMatch(/^HTTP\/1\.\d 200 /);
    expect(await textOf(`http://${monitor}/`)).toContain('<script');
    expect(JSON.parse(await textOf(`http://${monitor}/openapi.json`))).toHaveProperty('openapi');
    expect(await textOf(`http://${monitor}/metrics`)).toContain('\nd2_sidecar_build_info{');
    for (const asked of ['GET /metrics', 'POST /v1/metrics', 'POST /v1/traces']) await upstream.hasBeenAsked(asked);
    await expectCode(0, 'health', '--ready');
    await expectCode(0, 'health', '--monitor', monitor);
    expect((await run('report')).stdout).toContain('"sidecar"');
    expect((await run('top', '--once')).stdout).toContain('No calls are running.');
    // There is no JVM, and the message says so.
    expect(await run('threads')).toMatchObject({ code: 1, stderr: expect.stringContaining('JVM') });
    for (const command of ['reload', 'drain', 'shutdown']) await expectCode(0, command);
    expect(await sidecar.ended).toBe(0);
    expect(readFileSync(accessLog, 'utf8')).toContain('E.Demo.TestInOut');
    expect(readFileSync(state).length).toBeGreaterThan(0);
    expect(sidecar.logs.map(({ msg }) => msg)).toContain('systemd-notify cannot notify the service manager');
  });

  it('serves over TLS, and answers 401 to readers without a token', async () => {
    const authority = certificates.authority();
    const { certFile, keyFile } = certificates.signed(authority, { name: 'localhost' });
    const { pem, pfx } = createPfx();
    const ca = [readFileSync(authority.certFile, 'latin1'), pem];
    const pfxFile = write('monitor.pfx', pfx);
    const made = await run('passwd', 'scraper', '--token');
    const file = write('tls.yaml', {
      upstream: { url: `${origin}/smartWeb` },
      listen: { tls: { certFile, keyFile } },
      monitor: {
        tls: { pfxFile, passphraseFile: write('passphrase', 'word of the key') },
        auth: { tokensFile: write('scrapers', made.stdout.match(/^scraper:.*$/m)?.[0] ?? '') },
      },
    });
    const sidecar = await start(['--config', file, ...FREE]);
    const get = async (url: string) => {
      const request = https.get(url, { ca, agent: false });
      const [response] = (await once(request, 'response')) as [http.IncomingMessage];
      response.resume();
      await once(response, 'end');
      return response.statusCode;
    };
    expect(await get(`https://${sidecar.listen}/smartWeb/x`)).toBe(200);
    expect(await get(`https://${sidecar.monitor}/metrics`)).toBe(401);
    sidecar.child.kill('SIGTERM');
    expect(await sidecar.ended).toBe(0);
  });

  it('runs its demo', async () => {
    expect(await installed.runUntil(['demo'], /\/api\/rest\/v0\/admin/, { env })).toBe(0);
  });

  it('has loaded each of its files, and no others, in the tests above', () => {
    const dist = path.join(installed.place, 'dist');
    const loaded = new Set(
      readdirSync(coverage)
        .map((name) => JSON.parse(readFileSync(path.join(coverage, name), 'utf8')) as { result: { url: string }[] })
        .flatMap(({ result }) => result.map(({ url }) => url))
        .filter((url) => url.startsWith('file:'))
        .map((url) => path.relative(dist, fileURLToPath(url))),
    );
    const parts = readdirSync(path.join(dist, 'parts')).map((name) => `parts/${name}`);
    expect(parts.length).toBeGreaterThan(20);
    expect([...loaded].sort()).toEqual(['main.js', ...parts].sort());
  });
});
