/**
 * `npm pack`, installed: what the package holds, and `npx d2-sidecar`. Each of its files is loaded by a user's action, and nothing is loaded
 * from elsewhere: Node.js lists the loaded files for NODE_V8_COVERAGE. So no lazily loaded part can be missing.
 */
import { createPrivateKey } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import forge from 'node-forge';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { BUILD, ROOT, run as runProgram } from '../../support/install/run.ts';
import { exchange, portOf, send, startApplication } from '../../support/net.ts';
import { flagsFor } from '../../support/sidecar-process.ts';
import { CertificateFolder, textOf } from '../../support/tls/certificates.ts';
import { InstalledPackage } from './installed-package.ts';

/** npm is slow, and runs several times. */
const SLOW_MS = 300_000;
const FREE = ['--listen', '127.0.0.1:0', '--monitor', '127.0.0.1:0'];
const JVM = 'jvm_memory_used_bytes{area="heap"} 1.0\njvm_classes_currently_loaded 7.0\n';

const defer = deferTo(afterAll);
const installed = new InstalledPackage(defer);
const coverage = path.join(installed.folder, 'coverage');
const certificates = new CertificateFolder(temporaryFolder(defer));
/** Requests to the application server, the receiver of OTLP and the JVM's metrics in one. */
const asked: string[] = [];
let origin: string;
beforeAll(async () => {
  await installed.install();
  mkdirSync(coverage);
  const upstream = await startApplication(({ method, url }, response) => {
    asked.push(`${method} ${url}`);
    if (url === '/metrics') response.setHeader('content-type', 'text/plain; version=0.0.4');
    response.end(url === '/metrics' ? JVM : '');
  }, defer);
  origin = `http://127.0.0.1:${upstream.port}`;
}, SLOW_MS);

const own = readFileSync(path.join(ROOT, 'package.json'), 'utf8');

describe('the npm package', () => {
  it('holds its runtime files, documents and licences, but neither sources nor tests', () => {
    expect(installed.files).toEqual(
      expect.arrayContaining([
        ...['dist/main.js', 'dist/page/index.html', 'dist/licences/licences.txt', 'dist/licences/sbom.cdx.json'],
        ...['config/sidecar.yaml', 'config/schema.json', 'docs/install.md', 'docs/images/live-page.png'],
        ...['LICENSE', 'README.md', 'CHANGELOG.md', 'SECURITY.md', 'package.json'],
      ]),
    );
    const allowed = /^(?:dist|config|docs)\/|^(?:LICENSE|package\.json|[A-Z]+\.md)$/;
    expect(installed.files.filter((file) => !allowed.test(file))).toEqual([]);
  });

  it('needs no other package, and has no install script', () => {
    const modules = readdirSync(path.join(installed.user, 'node_modules')).filter((name) => !name.startsWith('.'));
    expect(modules).toEqual(['d2-sidecar']);
    const { private: isPrivate, scripts, dependencies, devDependencies, overrides, ...published } = JSON.parse(own);
    expect(Object.keys(dependencies)).toContain('fastify');
    expect(JSON.parse(installed.read('package.json'))).toEqual(published);
    // `npm publish` refuses a private package; otherwise it would publish the dependencies as well.
    expect(isPrivate).toBe(true);
  });

  it('leaves package.json in the project unchanged', () => {
    expect(installed.packedFrom).toBe(own);
  });

  it('has every file of the project that its documents link to, except the sources', () => {
    const documents = installed.files.filter((file) => file.endsWith('.md'));
    const broken = documents.flatMap((file) => {
      const text = installed.read(file);
      return [...text.matchAll(/\]\(([^)#\s]+)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !/^[a-z]+:/.test(target))
        .map((target) => path.posix.join(path.posix.dirname(file), target))
        .filter((target) => !/^(?:src|test|scripts|\.ci)(?:\/|$)/.test(target))
        .filter((target) => installed.sources.has(target) && !existsSync(path.join(installed.place, target)))
        .map((target) => `${file} -> ${target}`);
    });
    expect(documents.length).toBeGreaterThan(10);
    expect(broken).toEqual([]);
  });

  it('does not reveal where it was made', () => {
    const files = installed.files.filter((file) => /\.(?:js|json|css|html|txt|md|yaml)$/.test(file));
    const places = [ROOT, installed.folder];
    expect(files.filter((file) => places.some((place) => installed.read(file).includes(`${place}/`)))).toEqual([]);
  });

  it('shows the same version and build in --version, its log and /metrics, by npx', { timeout: SLOW_MS }, async () => {
    const { version } = JSON.parse(own);
    const told = await installed.run(['--version'], { by: 'npx' });
    expect(told.stdout).toBe(`${version} (build ${BUILD}, Node ${process.version})\n`);
    const { logs, monitor, ended } = await installed.start(flagsFor(1), { by: 'npx' });
    expect(logs[0]).toMatchObject({ msg: 'starting', version, build: BUILD, node: process.version });
    const metrics = await (await fetch(`http://${monitor}/metrics`)).text();
    const [, labels = ''] = /^d2_sidecar_build_info\{(.*)\} 1$/m.exec(metrics) ?? [];
    const shown = Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]));
    expect(shown).toEqual({ version, build: BUILD, node: process.version });
    // npx passes no signal on, so the package's own command ends it.
    expect(await installed.run(['shutdown'], { by: 'npx' })).toMatchObject({ code: 0 });
    expect(await ended).toBe(0);
  });
});

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

describe('the installed package', { timeout: SLOW_MS }, () => {
  it('prints all of a long text to a slow reader, and ends without an error with one that leaves', async () => {
    const text = installed.read('dist/licences/licences.txt');
    const main = path.join(installed.user, 'node_modules/d2-sidecar/dist/main.js');
    const printTo = (reader: string) =>
      runProgram('sh', ['-c', `"${process.execPath}" "${main}" print licences | ${reader}`]);
    expect(await printTo('(sleep 0.5; cat)')).toMatchObject({ stdout: text, stderr: '' });
    expect(await printTo('head -1')).toMatchObject({ stdout: `${text.split('\n', 1)[0]}\n`, stderr: '' });
  });

  it('prints its help and version, checks a configuration and creates credentials', async () => {
    const all = write('all.yaml', { upstream: { url: `${origin}/smartWeb` } });
    expect((await run('--help')).stdout).toContain('d2-sidecar check');
    await expectCode(0, '--version');
    expect(await run('check', '--config', all)).toMatchObject({ code: 0, stderr: '' });
    await expectCode(0, 'check', '--connect', '--config', all);
    await expectCode(64, 'check', '--config', write('odd.yaml', { upstrem: {} }));
    await expectCode(0, 'passwd', 'reader', '--token', '--file', path.join(installed.folder, 'tokens'));
    await expectCode(1, 'health');
    for (const name of ['sample', 'schema']) await expectCode(0, 'print', name);
    await expectCode(0, 'learn', '--minutes', '0.001', '--upstream', `${origin}/smartWeb`, ...FREE);
  });

  it('serves with every optional feature on, and answers its commands', async () => {
    const accessLog = path.join(installed.folder, 'access.log');
    const state = path.join(installed.folder, 'state/numbers');
    mkdirSync(path.dirname(state), { mode: 0o700 });
    const file = write('sidecar.yaml', {
      upstream: { url: `${origin}/smartWeb` },
      // This process is no JVM; a Tomcat of another test would be found otherwise.
      jvm: { pid: process.pid, http: { kind: 'prometheus', url: `${origin}/metrics` } },
      otlp: {
        ...{ endpoint: origin, timeout: '500ms', metrics: { interval: '1s' } },
        traces: { enabled: true, sampleRatio: 1 },
      },
      accessLog: { file: accessLog, others: true },
      state: { file: state },
      history: { file: path.join(path.dirname(state), 'history.db') },
      alerts: {
        webhook: { url: `${origin}/hook` },
        mail: { smtp: 'smtp://127.0.0.1:1', from: 'd2@example.org', to: ['operators@example.org'] },
      },
    });
    const sidecar = await start(['--config', file, ...FREE], { NOTIFY_SOCKET: '/nowhere' });
    const { listen, monitor } = sidecar;
    const post = (target: string, body = '') =>
      fetch(`http://${listen}/smartWeb/api/${target}`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body },
      });
    expect((await post('rest/v0/d2/rpc/E.Demo/TestInOut')).status).toBe(200);
    await post('cometd', '[{"channel":"/meta/handshake"}]');
    expect(await exchange(portOf(listen), 'GET /smartWeb/old HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.\d 200 /);
    const read = async (target: string) => (await send(portOf(monitor), target)).body;
    expect(await read('/')).toContain('<script');
    expect(JSON.parse(await read('/openapi.json'))).toHaveProperty('openapi');
    expect(await read('/metrics')).toContain('\nd2_sidecar_build_info{');
    const wanted = ['GET /metrics', 'POST /v1/metrics', 'POST /v1/traces'];
    await vi.waitFor(() => expect(asked).toEqual(expect.arrayContaining(wanted)), 30_000);
    await expectCode(0, 'health', '--ready');
    await expectCode(0, 'health', '--monitor', monitor);
    expect((await run('report')).stdout).toContain('"sidecar"');
    expect((await run('top', '--once')).stdout).toContain('No calls are running.');
    expect(await run('verdict')).toMatchObject({ code: expect.any(Number), stdout: expect.stringMatching(/\.\n$/) });
    expect(await run('threads')).toMatchObject({ code: 1, stderr: expect.stringContaining('JVM') });
    await expectCode(0, 'note', 'index added');
    await expectCode(0, 'silence', '1h', 'index build');
    // There is no mail server.
    expect(await run('alerts', 'test')).toMatchObject({ code: 1, stdout: expect.stringContaining('webhook: sent') });
    // Node.js 20 has no SQLite.
    const code = isBuiltin('node:sqlite') ? 0 : 1;
    await expectCode(code, 'summary', '--since', '1d');
    await expectCode(code, 'history', 'backup', path.join(installed.folder, 'copy.db'));
    await expectCode(64, 'service', 'status');
    for (const command of ['reload', 'drain', 'shutdown']) await expectCode(0, command);
    expect(await sidecar.ended).toBe(0);
    expect(readFileSync(accessLog, 'utf8')).toContain('E.Demo.TestInOut');
    expect(readFileSync(state).length).toBeGreaterThan(0);
    expect(sidecar.logs.map(({ msg }) => msg)).toContain('systemd-notify cannot notify the service manager');
  });

  it('serves over TLS, and answers 401 to readers without a token', async () => {
    const authority = certificates.authority();
    const pair = certificates.signed(authority, { name: 'localhost', key: 'rsa' });
    const key = forge.pki.privateKeyFromPem(textOf(pair.keyFile));
    // It encodes names in another way, which breaks the signature.
    const certificate = forge.pki.certificateFromPem(textOf(pair.certFile));
    const pfx = forge.pkcs12.toPkcs12Asn1(key, [certificate], 'word of the key');
    const pfxFile = write('monitor.pfx', Buffer.from(forge.asn1.toDer(pfx).getBytes(), 'latin1'));
    const passphraseFile = write('passphrase', 'word of the key');
    const encrypted = createPrivateKey(textOf(pair.keyFile)).export({
      ...{ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'word of the key' },
    });
    const made = await run('passwd', 'scraper', '--token');
    const file = write('tls.yaml', {
      upstream: { url: `${origin}/smartWeb` },
      listen: { tls: { ...pair, keyFile: write('encrypted.pem', encrypted), passphraseFile } },
      monitor: {
        tls: { pfxFile, passphraseFile },
        auth: { tokensFile: write('scrapers', made.stdout.match(/^scraper:.*$/m)?.[0] ?? '') },
      },
    });
    const sidecar = await start(['--config', file, ...FREE]);
    const statusOf = async (address: string, target: string, trust: object) =>
      (await send(portOf(address), target, { protocol: 'https:', ...trust })).status;
    expect(await statusOf(sidecar.listen, '/smartWeb/x', { ca: textOf(authority.certFile) })).toBe(200);
    expect(await statusOf(sidecar.monitor, '/metrics', { rejectUnauthorized: false })).toBe(401);
    expect(await sidecar.stop()).toBe(0);
  });

  it('starts without its certificate, which may come later', async () => {
    const tls = { certFile: path.join(installed.place, 'none.crt'), keyFile: path.join(installed.place, 'none.key') };
    const file = write('no-files.yaml', { upstream: { url: `${origin}/smartWeb` }, monitor: { tls } });
    const sidecar = await start(['--config', file, ...FREE]);
    expect(await sidecar.stop()).toBe(0);
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
