/** `npm pack`, and `npx d2-sidecar` of its archive. npm-parts.test.ts tests that each part of it can be loaded. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BUILD } from '../../support/install/project-copy.ts';
import { ROOT } from '../../support/install/run.ts';
import { flagsFor } from '../../support/sidecar-process.ts';
import { InstalledPackage } from './installed-package.ts';

/** npm is slow, and runs several times. */
const SLOW_MS = 300_000;

let installed: InstalledPackage;
beforeAll(async () => {
  installed = new InstalledPackage();
  await installed.install();
}, SLOW_MS);
afterAll(() => installed.dispose());

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
    const own = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as Record<string, unknown>;
    const { private: isPrivate, scripts, dependencies, devDependencies, overrides, ...published } = own;
    expect(Object.keys(dependencies as object)).toContain('fastify');
    expect(installed.manifest).toEqual(published);
    // `npm publish` refuses a private package; otherwise it would publish the dependencies as well.
    expect(isPrivate).toBe(true);
  });

  it('leaves package.json in the project unchanged', () => {
    expect(installed.packedFrom).toBe(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
  });

  it('has the licence of each package that the sources import', () => {
    const text = readFileSync(path.join(installed.place, 'dist/licences/licences.txt'), 'utf8');
    const sources = readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
    const imported = sources
      .filter((file) => /\.tsx?$/.test(file))
      .map((file) => readFileSync(path.join(ROOT, 'src', file), 'utf8'))
      .flatMap((source) => [...source.matchAll(/^(?:import|export) (?!type ).*from '((?:@[^/']+\/)?[^./'][^/']*)/gm)])
      .map(([, name = '']) => name)
      .filter((name) => !name.startsWith('node:'));
    expect(new Set(imported).size).toBeGreaterThan(8);
    // Listed, and then with its text.
    expect(imported.filter((name) => !new RegExp(`\n${name} [\\d.]+\n\n.*\\w`).test(text))).toEqual([]);
  });

  it('has every file of the project that its documents link to, except the sources', () => {
    const documents = installed.files.filter((file) => file.endsWith('.md'));
    const broken = documents.flatMap((file) => {
      const text = readFileSync(path.join(installed.place, file), 'utf8');
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
    const telling = files.filter((file) => {
      const text = readFileSync(path.join(installed.place, file), 'utf8');
      return places.some((place) => text.includes(`${place}/`));
    });
    expect(telling).toEqual([]);
  });

  it('starts by its name', () => {
    expect(statSync(path.join(installed.place, 'dist/main.js')).mode & 0o111).toBe(0o111);
  });

  it('checks a configuration by npx, without any other package', { timeout: SLOW_MS }, async () => {
    const file = path.join(installed.place, 'config/sidecar.yaml');
    const { code, stdout } = await installed.run(['check', '--config', file], { by: 'npx' });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^upstream:$/m);
  });

  it('shows the same version and build in --version, its log and /metrics', { timeout: SLOW_MS }, async () => {
    const { version } = installed.manifest;
    const told = await installed.run(['--version'], { by: 'npx' });
    expect(told.stdout).toBe(`${version} (build ${BUILD}, Node ${process.version})\n`);
    const { logs, monitor, ended } = await installed.start(flagsFor(1), { by: 'npx' });
    expect(logs[0]).toMatchObject({ msg: 'starting', version, build: BUILD, node: process.version });
    const metrics = await (await fetch(`http://${monitor}/metrics`)).text();
    const [, labels = ''] = /^d2_sidecar_build_info\{(.*)\} 1$/m.exec(metrics) ?? [];
    expect(
      Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value])),
    ).toEqual({
      ...{ version, build: BUILD, node: process.version },
    });
    // npx passes no signal on, so the package's own command ends it.
    expect(await installed.run(['shutdown'], { by: 'npx' })).toMatchObject({ code: 0 });
    expect(await ended).toBe(0);
  });
});
