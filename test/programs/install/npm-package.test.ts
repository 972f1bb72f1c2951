/** `npm pack`, installed: what the package holds and imports, and `npx d2-sidecar`. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { deferTo } from '../../support/deferred.ts';
import { BUILD, ROOT, run } from '../../support/install/run.ts';
import { portOf, send, startApplication } from '../../support/net.ts';
import { flagsFor } from '../../support/sidecar-process.ts';
import { InstalledPackage } from './installed-package.ts';

/** npm is slow, and runs several times. */
const SLOW_MS = 300_000;
const JVM = 'jvm_memory_used_bytes{area="heap"} 1.0\njvm_classes_currently_loaded 7.0\n';

const defer = deferTo(afterAll);
const installed = new InstalledPackage(defer);
/** Requests to the application server, the receiver of OTLP and the JVM's metrics in one. */
const asked: string[] = [];
let origin: string;
beforeAll(async () => {
  await installed.install();
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
    expect(installed.packedFrom).toBe(own);
  });

  it('imports Node.js and its own files, all of them, and nothing else', () => {
    const files = installed.files.filter((file) => /^dist\/(?:main|parts\/.*)\.js$/.test(file));
    const IMPORT = /^(?:import|export)\b.*?["']([\w.:/~@-]+)["'];$|(?:\bimport|require)\(["']([^"']+)["']\)/gm;
    const imported = files.flatMap((file) =>
      [...installed.read(file).matchAll(IMPORT)].map(([, fixed = '', lazy]) => {
        const target = lazy ?? fixed;
        return target.startsWith('.') ? path.posix.join(path.posix.dirname(file), target) : target;
      }),
    );
    const others = new Set(imported.filter((target) => !isBuiltin(target)));
    expect(files.length).toBeGreaterThan(20);
    expect([...others, 'dist/main.js'].sort()).toEqual(files.sort());
  });

  it('does not reveal where it was made', () => {
    const files = installed.files.filter((file) => /\.(?:js|json|css|html|txt|md|yaml)$/.test(file));
    const places = [ROOT, installed.folder];
    expect(files.filter((file) => places.some((place) => installed.read(file).includes(`${place}/`)))).toEqual([]);
  });

  it('shows the same version and build in --version, its log and /metrics, by npx', { timeout: SLOW_MS }, async () => {
    const { version } = JSON.parse(own);
    const told = await installed.run(['--version'], 'npx');
    expect(told.stdout).toBe(`${version} (build ${BUILD}, Node ${process.version})\n`);
    const { logs, monitor, ended } = await installed.start(flagsFor(1), 'npx');
    expect(logs[0]).toMatchObject({ msg: 'starting', version, build: BUILD, node: process.version });
    const metrics = await (await fetch(`http://${monitor}/metrics`)).text();
    const [, labels = ''] = /^d2_sidecar_build_info\{(.*)\} 1$/m.exec(metrics) ?? [];
    const shown = Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]));
    expect(shown).toEqual({ version, build: BUILD, node: process.version });
    // npx passes no signal on, so the package's own command ends it.
    expect(await installed.run(['shutdown'], 'npx')).toMatchObject({ code: 0 });
    expect(await ended).toBe(0);
  });
});

describe('the installed package', { timeout: SLOW_MS }, () => {
  it('prints all of a long text to a slow reader, and ends without an error with one that leaves', async () => {
    const text = installed.read('dist/licences/licences.txt');
    const main = path.join(installed.place, 'dist/main.js');
    const printTo = (reader: string) => run('sh', ['-c', `"${process.execPath}" "${main}" print licences | ${reader}`]);
    expect(await printTo('(sleep 0.5; cat)')).toMatchObject({ stdout: text, stderr: '' });
    expect(await printTo('head -1')).toMatchObject({ stdout: `${text.split('\n', 1)[0]}\n`, stderr: '' });
  });

  it('serves with every optional feature on, and answers its commands', async () => {
    const place = path.join(installed.folder, 'own');
    mkdirSync(place, { mode: 0o700 });
    const at = (name: string) => path.join(place, name);
    const config = {
      // This process is no JVM; a Tomcat of another test would be found otherwise.
      jvm: { pid: process.pid, http: { kind: 'prometheus', url: `${origin}/metrics` } },
      otlp: {
        ...{ endpoint: origin, timeout: '500ms', metrics: { interval: '1s' } },
        traces: { enabled: true, sampleRatio: 1 },
      },
      ...{ accessLog: { file: at('access.log') }, state: { file: at('state') }, history: { file: at('history.db') } },
      alerts: {
        webhook: { url: `${origin}/hook` },
        mail: { smtp: 'smtp://127.0.0.1:1', from: 'd2@example.org', to: ['operators@example.org'] },
      },
    };
    // JSON is YAML.
    writeFileSync(at('sidecar.yaml'), JSON.stringify(config), { mode: 0o600 });
    const { listen, monitor, ended } = await installed.start([
      ...flagsFor(portOf(origin)),
      ...['--config', at('sidecar.yaml')],
    ]);
    const post = { method: 'POST', headers: { 'content-type': 'application/json' } };
    expect((await fetch(`http://${listen}/smartWeb/api/rest/v0/d2/rpc/E.Demo/TestInOut`, post)).status).toBe(200);
    const read = async (target: string) => (await send(portOf(monitor), target)).body;
    expect(await read('/')).toContain('<script');
    expect(JSON.parse(await read('/openapi.json'))).toHaveProperty('openapi');
    const wanted = ['GET /metrics', 'POST /v1/metrics', 'POST /v1/traces'];
    await vi.waitFor(() => expect(asked).toEqual(expect.arrayContaining(wanted)), 30_000);
    // There is no mail server.
    const tested = await installed.run(['alerts', 'test']);
    expect(tested).toMatchObject({ code: 1, stdout: expect.stringContaining('webhook: sent') });
    // Node.js 20 has no SQLite.
    expect((await installed.run(['summary', '--since', '1d'])).code).toBe(isBuiltin('node:sqlite') ? 0 : 1);
    for (const command of ['report', 'reload', 'drain', 'shutdown'])
      expect(await installed.run([command]), command).toMatchObject({ code: 0 });
    expect(await ended).toBe(0);
    expect(readFileSync(at('access.log'), 'utf8')).toContain('E.Demo.TestInOut');
    expect(readFileSync(at('state')).length).toBeGreaterThan(0);
  });
});
