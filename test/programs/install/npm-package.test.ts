/** `npm pack`, and `npx d2-sidecar` of its archive. npm-parts.test.ts tests that each part of it can be loaded. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deferTo } from '../../support/deferred.ts';
import { BUILD } from '../../support/install/project-copy.ts';
import { ROOT } from '../../support/install/run.ts';
import { flagsFor } from '../../support/sidecar-process.ts';
import { InstalledPackage } from './installed-package.ts';

/** npm is slow, and runs several times. */
const SLOW_MS = 300_000;

const defer = deferTo(afterAll);
const installed = new InstalledPackage(defer);
beforeAll(() => installed.install(), SLOW_MS);

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

  it('checks a configuration by npx, without any other package', { timeout: SLOW_MS }, async () => {
    const file = path.join(installed.place, 'config/sidecar.yaml');
    const { code, stdout } = await installed.run(['check', '--config', file], { by: 'npx' });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^upstream:$/m);
  });

  it('shows the same version and build in --version, its log and /metrics', { timeout: SLOW_MS }, async () => {
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
