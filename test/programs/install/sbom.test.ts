/** `scripts/sbom.mjs`, against package-lock.json, which lists installed packages, and package.json, which lists the bundled ones. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { ROOT } from '../../support/install/run.ts';

const SCRIPT = path.join(ROOT, 'scripts/sbom.mjs');

type Strings<Names extends string> = Readonly<Record<Names, string>>;

interface Component extends Strings<'bom-ref' | 'name' | 'version' | 'purl'> {
  readonly hashes: readonly { readonly content: string }[];
  readonly licenses: readonly { readonly license?: { readonly id: string }; readonly expression?: string }[];
}

interface Sbom extends Strings<'bomFormat' | 'specVersion'> {
  readonly metadata: { readonly component: Strings<'name' | 'type' | 'version'> };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const run = (cwd: string, ...args: readonly string[]) =>
  spawnSync(process.execPath, [SCRIPT, ...args], { cwd, encoding: 'utf8' });
const folder = temporaryFolder(deferTo(afterAll));
const readJson = <Shape>(file: string) => JSON.parse(readFileSync(file, 'utf8')) as Shape;

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');
const { version, dependencies } = JSON.parse(read('package.json'));
const { packages } = JSON.parse(read('package-lock.json'));
/** By name and version, as the SBOM names them. */
const locked = new Map(
  Object.entries<Record<string, unknown>>(packages).map(([place, entry]) => {
    const name = place.replace(/^.*node_modules\//, '');
    return [`${name}@${entry.version}`, { ...entry, name } as Record<string, unknown>];
  }),
);
let sbom: Sbom;
beforeAll(() => {
  expect(run(ROOT, path.join(folder, 'made/here'))).toMatchObject({ status: 0, stderr: '' });
  sbom = readJson<Sbom>(path.join(folder, 'made/here/sbom.cdx.json'));
});

it('the SBOM of this project is CycloneDX, with version, hash, licence and its text of each package, as package-lock.json has them', () => {
  const licences = readFileSync(path.join(folder, 'made/here/licences.txt'), 'utf8');
  expect([sbom.bomFormat, sbom.specVersion]).toEqual(['CycloneDX', expect.stringMatching(/^1\.\d$/)]);
  expect(sbom.metadata.component).toMatchObject({ name: 'd2-sidecar', type: 'application', version });
  for (const component of sbom.components) {
    const wanted = locked.get(component['bom-ref']) ?? {};
    const { purl, hashes, licenses } = component;
    expect({
      ...{ name: component.name, version: component.version, purl: decodeURIComponent(purl) },
      integrity: hashes.map(({ content }) => `sha512-${Buffer.from(content, 'hex').toString('base64')}`),
      license: licenses.map(({ license: one, expression }) => one?.id ?? expression),
    }).toEqual({
      ...{ name: wanted.name, version: wanted.version, purl: `pkg:npm/${wanted.name}@${wanted.version}` },
      ...{ integrity: [wanted.integrity], license: [wanted.license] },
    });
    expect(licences).toContain(`\n${wanted.name} ${wanted.version}: ${wanted.license}\n`);
    expect(licences).toContain(`\n${'='.repeat(80)}\n${wanted.name} ${wanted.version}\n\n`);
  }
  expect(sbom.components.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(dependencies)));
  expect(licences.match(/Permission is hereby granted/g)?.length).toBeGreaterThan(20);
  // As npm ls and npm audit with --omit=dev, except for the few lines that the bundler adds.
  const unseen = sbom.components.filter((component) => locked.get(component['bom-ref'])?.dev === true);
  expect(unseen.map(({ name }) => name)).toEqual(['rolldown']);
});

describe('the SBOM script, in a project with its own packages', () => {
  const LICENSES: Readonly<Record<string, unknown>> = { one: 'MIT', two: 'ISC', shaken: 'MIT', tool: 'GPL-3.0-only' };

  /** `one` needs `two`; `shaken` is removed entirely; `tool` is never imported. */
  function project(name: string, licenses = LICENSES): string {
    const root = path.join(folder, name);
    const write = (file: string, content: string | object) => {
      mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
      writeFileSync(path.join(root, file), typeof content === 'string' ? content : JSON.stringify(content));
    };
    const [dependencies, devDependencies] = [{ one: '1.0.0' }, { shaken: '1.0.0', tool: '1.0.0' }];
    const needs: Readonly<Record<string, object>> = { one: { two: '1.0.0', shaken: '1.0.0' } };
    const manifest = { name: 'project', version: '1.0.0', dependencies, devDependencies };
    write('package.json', { ...manifest, type: 'module' });
    write('rolldown.config.js', "export default { input: 'main.js', output: { dir: 'dist' } };");
    write('main.js', "import { unused } from 'shaken';\nimport { one } from 'one';\nglobalThis.one = one;\n");
    write('node_modules/one/index.js', "import { two } from 'two';\nexport const one = [two];\n");
    write('node_modules/two/index.js', 'export const two = () => globalThis.one;\n');
    write('node_modules/shaken/index.js', 'export const unused = () => globalThis.one;\n');
    write('node_modules/tool/index.js', 'export const tool = 4;\n');
    write('node_modules/other/index.js', 'export const other = () => globalThis.one;\n');
    const packages: Record<string, object> = { '': manifest };
    for (const [one, license] of Object.entries({ ...licenses, other: 'MIT' })) {
      const main = { type: 'module', main: 'index.js', sideEffects: false };
      write(`node_modules/${one}/package.json`, { name: one, version: '1.0.0', ...main, license });
      if (one !== 'other') packages[`node_modules/${one}`] = { version: '1.0.0', dependencies: needs[one] };
    }
    write('package-lock.json', { name: 'project', version: '1.0.0', lockfileVersion: 3, packages });
    return root;
  }

  it.each([
    ['one of two that is copyleft', '(MIT OR LGPL-2.1-or-later)'],
    ['an old form', { type: 'MIT' }],
    ['copyleft of a package that another one needs', 'GPL-3.0-only', 'two'],
  ])('refuses %s, and writes nothing', (name, license, of = 'one') => {
    const root = project(name, { ...LICENSES, [of]: license });
    const { status, stderr } = run(root, 'out');
    expect(stderr).toMatch(new RegExp(`^${of} 1\\.0\\.0: .*, which is not permitted\n$`));
    expect(status).toBe(1);
    expect(existsSync(path.join(root, 'out'))).toBe(false);
  });

  it('accepts a permitted expression, and writes the packages in the bundle, with their dependencies, and nothing else', () => {
    const root = project('bundled', { ...LICENSES, one: '(MIT AND Zlib)' });
    expect(run(root, 'out')).toMatchObject({ status: 0, stderr: '' });
    const sbom = readJson<Sbom>(path.join(root, 'out/sbom.cdx.json'));
    expect(sbom.metadata.component.name).toBe('project');
    expect(sbom.components.map(({ purl }) => purl)).toEqual(['pkg:npm/one@1.0.0', 'pkg:npm/two@1.0.0']);
    expect(sbom.dependencies.map(({ dependsOn }) => dependsOn)).toEqual([['one@1.0.0'], ['two@1.0.0'], []]);
    expect(existsSync(path.join(root, 'dist'))).toBe(false);
  });

  it('fails for a bundled package that is not in package-lock.json', () => {
    const root = project('bundled-unlocked');
    writeFileSync(path.join(root, 'main.js'), "import { other } from 'other';\nglobalThis.one = other;\n");
    const { status, stderr } = run(root, 'out');
    expect(status).toBe(1);
    expect(stderr).toContain('node_modules/other is in the bundle, and other@1.0.0 is not in package-lock.json');
  });
});
