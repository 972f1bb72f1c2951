/** `scripts/sbom.mjs`, against package-lock.json, which lists installed packages, and package.json, which lists the bundled ones. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { ROOT } from '../../support/install/run.ts';

const SCRIPT = path.join(ROOT, 'scripts/sbom.mjs');

type Strings<Names extends string> = Readonly<Record<Names, string>>;

interface LockedPackage extends Strings<'version' | 'integrity'>, Partial<Strings<'license'>> {
  readonly dev?: boolean;
  readonly dependencies?: Strings<string>;
  readonly peerDependencies?: Strings<string>;
}

interface Component extends Strings<'bom-ref' | 'name' | 'version' | 'purl'> {
  readonly hashes: readonly { readonly alg: string; readonly content: string }[];
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

describe('the SBOM of this project', () => {
  let sbom: Sbom;
  let licences: string;
  /** By name and version, as the SBOM names them. */
  let locked: ReadonlyMap<string, LockedPackage & { readonly name: string }>;
  beforeAll(() => {
    expect(run(ROOT, path.join(folder, 'made/here'))).toMatchObject({ status: 0, stderr: '' });
    sbom = readJson<Sbom>(path.join(folder, 'made/here/sbom.cdx.json'));
    licences = readFileSync(path.join(folder, 'made/here/licences.txt'), 'utf8');
    const lock = readJson<{ packages: Record<string, LockedPackage> }>(path.join(ROOT, 'package-lock.json'));
    const entries = Object.entries(lock.packages).filter(([place]) => place !== '');
    const named = entries.map(([place, entry]) => ({ ...entry, name: place.replace(/^.*node_modules\//, '') }));
    locked = new Map(named.map((entry) => [`${entry.name}@${entry.version}`, entry]));
  });

  it('is CycloneDX, and describes the project with all of its dependencies', () => {
    const { version, dependencies } = readJson<{ version: string; dependencies: object }>(
      path.join(ROOT, 'package.json'),
    );
    expect([sbom.bomFormat, sbom.specVersion]).toEqual(['CycloneDX', expect.stringMatching(/^1\.\d$/)]);
    expect(sbom.metadata.component).toMatchObject({ name: 'd2-sidecar', type: 'application', version });
    expect(sbom.components.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(dependencies)));
  });

  it('agrees with npm ls --omit=dev and npm audit --omit=dev, except for the few lines that the bundler adds', () => {
    const unseen = sbom.components.filter((component) => locked.get(component['bom-ref'])?.dev === true);
    expect(unseen.map(({ name }) => name)).toEqual(['rolldown']);
  });

  it('has version, hash and licence of each package, as package-lock.json has them', () => {
    for (const component of sbom.components) {
      const { name, version, integrity, license } = locked.get(component['bom-ref']) ?? {};
      const { purl, hashes, licenses } = component;
      expect({
        ...{ name: component.name, version: component.version, purl: decodeURIComponent(purl) },
        integrity: hashes.map(({ content }) => `sha512-${Buffer.from(content, 'hex').toString('base64')}`),
        license: licenses.map(({ license: one, expression }) => one?.id ?? expression),
      }).toEqual({ name, version, purl: `pkg:npm/${name}@${version}`, integrity: [integrity], license: [license] });
    }
    expect(sbom.components.length).toBeGreaterThan(20);
  });

  it('says which package needs which, and has no unneeded package', () => {
    const refs = new Map(sbom.components.map((component) => [component['bom-ref'], component]));
    expect(refs.size).toBe(sbom.components.length);
    const [root, ...edges] = sbom.dependencies;
    expect(edges.map(({ ref }) => ref)).toEqual([...refs.keys()]);
    const known = new Set(sbom.components.map(({ name }) => name));
    for (const { ref, dependsOn } of edges) {
      const { dependencies, peerDependencies } = locked.get(ref) ?? {};
      const needed = dependsOn.map((one) => refs.get(one)?.name ?? one);
      const stated = Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => known.has(name));
      expect([ref, needed.toSorted()]).toEqual([ref, stated.toSorted()]);
    }
    const used = new Set(sbom.dependencies.flatMap(({ dependsOn }) => dependsOn));
    expect([...refs.keys()].filter((ref) => !used.has(ref))).toEqual([]);
    expect(root?.dependsOn.map((ref) => refs.get(ref)?.name)).toEqual(
      expect.arrayContaining(['fastify', 'preact', 'uplot']),
    );
  });

  it('comes with a list of the licences, with their texts', () => {
    for (const component of sbom.components) {
      const { name, version, license } = locked.get(component['bom-ref']) ?? {};
      expect(licences).toContain(`\n${name} ${version}: ${license}\n`);
      expect(licences).toContain(`\n${'='.repeat(80)}\n${name} ${version}\n\n`);
    }
    expect(licences.match(/Permission is hereby granted/g)?.length).toBeGreaterThan(20);
  });
});

describe('the SBOM script, in a project with its own packages', () => {
  const LICENSES: Readonly<Record<string, unknown>> = { one: 'MIT', two: 'ISC', shaken: 'MIT', tool: 'GPL-3.0-only' };

  /** `one` needs `two`; `shaken` is removed entirely; `tool` is never imported. */
  function project(name: string, licenses = LICENSES): string {
    const root = path.join(folder, name);
    const write = (file: string, text: string) => {
      mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
      writeFileSync(path.join(root, file), text);
    };
    const [dependencies, devDependencies] = [{ one: '1.0.0' }, { shaken: '1.0.0', tool: '1.0.0' }];
    const needs: Readonly<Record<string, object>> = { one: { two: '1.0.0', shaken: '1.0.0' } };
    const manifest = { name: 'project', version: '1.0.0', dependencies, devDependencies };
    write('package.json', JSON.stringify({ ...manifest, type: 'module' }));
    write('rolldown.config.js', "export default { input: 'main.js', output: { dir: 'dist' } };");
    write('main.js', "import { unused } from 'shaken';\nimport { one } from 'one';\nglobalThis.one = one;\n");
    write('node_modules/one/index.js', "import { two } from 'two';\nexport const one = [two];\n");
    write('node_modules/two/index.js', 'export const two = () => globalThis.one;\n');
    write('node_modules/shaken/index.js', 'export const unused = () => globalThis.one;\n');
    write('node_modules/tool/index.js', 'export const tool = 4;\n');
    write('node_modules/other/index.js', 'export const other = () => globalThis.one;\n');
    const packages: Record<string, object> = { '': manifest };
    for (const [one, license] of Object.entries({ ...licenses, other: 'MIT' })) {
      const described = { name: one, version: '1.0.0', type: 'module', main: 'index.js', sideEffects: false, license };
      write(`node_modules/${one}/package.json`, JSON.stringify(described));
      if (one !== 'other') packages[`node_modules/${one}`] = { version: '1.0.0', dependencies: needs[one] };
    }
    write('package-lock.json', JSON.stringify({ name: 'project', version: '1.0.0', lockfileVersion: 3, packages }));
    return root;
  }

  it.each([
    ['copyleft', 'GPL-3.0-only'],
    ['one of two that is copyleft', '(MIT OR LGPL-2.1-or-later)'],
    ['an exception', 'Apache-2.0 WITH LLVM-exception'],
    ['a licence of its own', 'SEE LICENSE IN LICENSE.md'],
    ['none', undefined],
    ['an old form', { type: 'MIT' }],
    ['an empty one', ' '],
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
    // Reproducible to the byte.
    expect(run(root, 'again')).toMatchObject({ status: 0 });
    for (const name of ['sbom.cdx.json', 'licences.txt'])
      expect(readFileSync(path.join(root, 'again', name))).toEqual(readFileSync(path.join(root, 'out', name)));
  });

  it('fails for a bundled package that is not in package-lock.json', () => {
    const root = project('bundled-unlocked');
    writeFileSync(path.join(root, 'main.js'), "import { other } from 'other';\nglobalThis.one = other;\n");
    const { status, stderr } = run(root, 'out');
    expect(status).toBe(1);
    expect(stderr).toContain('node_modules/other is in the bundle, and other@1.0.0 is not in package-lock.json');
  });
});
