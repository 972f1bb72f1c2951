/** `.ci/sbom.mjs`, against package-lock.json, which says what is installed. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '..');
const SCRIPT = path.join(ROOT, '.ci/sbom.mjs');

interface LockedPackage {
  readonly version: string;
  readonly license?: string;
  readonly integrity: string;
  readonly dev?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
}

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly hashes: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses: readonly { readonly license?: { readonly id: string }; readonly expression?: string }[];
}

interface Sbom {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly metadata: { readonly component: { readonly name: string; readonly type: string; readonly version: string } };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

function run(cwd: string, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, ...args], { cwd, encoding: 'utf8' });
  return { status, stdout, stderr };
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'd2s-sbom-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('of this project', () => {
  let sbom: Sbom;
  let licences: string;
  let locked: readonly (LockedPackage & { readonly name: string })[];
  beforeAll(() => {
    const { status, stderr } = run(ROOT, path.join(folder, 'made/here'));
    expect(stderr).toBe('');
    expect(status).toBe(0);
    sbom = JSON.parse(readFileSync(path.join(folder, 'made/here/sbom.cdx.json'), 'utf8')) as Sbom;
    licences = readFileSync(path.join(folder, 'made/here/licences.txt'), 'utf8');
    const lock = JSON.parse(readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, LockedPackage>;
    };
    locked = Object.entries(lock.packages)
      .filter(([place, { dev }]) => place !== '' && dev !== true)
      .map(([place, entry]) => ({ ...entry, name: place.replace(/^.*node_modules\//, '') }));
  });

  it('it is CycloneDX, and says what it is about', () => {
    const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect([sbom.bomFormat, sbom.specVersion]).toEqual(['CycloneDX', expect.stringMatching(/^1\.\d$/)]);
    expect(sbom.metadata.component).toMatchObject({ name: 'd2-sidecar', type: 'application', version });
  });

  it('it has each package of production with version, hash and licence, and no other', () => {
    const found = sbom.components.map(({ name, version, purl, hashes, licenses }) => ({
      name,
      version,
      purl: decodeURIComponent(purl),
      integrity: hashes.map(({ content }) => `sha512-${Buffer.from(content, 'hex').toString('base64')}`),
      license: licenses.map(({ license, expression }) => license?.id ?? expression),
    }));
    const expected = locked.map(({ name, version, integrity, license }) => ({
      name,
      version,
      purl: `pkg:npm/${name}@${version}`,
      integrity: [integrity],
      license: [license],
    }));
    const byPurl = (a: { purl: string }, b: { purl: string }) => (a.purl < b.purl ? -1 : 1);
    expect(found.toSorted(byPurl)).toEqual(expected.toSorted(byPurl));
    expect(found.length).toBeGreaterThan(20);
  });

  it('it says what needs what', () => {
    const refs = new Map(sbom.components.map((component) => [component['bom-ref'], component]));
    expect(refs.size).toBe(sbom.components.length);
    const root = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as LockedPackage;
    const needs = sbom.dependencies.map(({ dependsOn }) => dependsOn.map((ref) => refs.get(ref)?.name));
    expect(needs).toEqual([root, ...locked].map(({ dependencies = {} }) => Object.keys(dependencies)));
    // One that is not on top is somebody's own.
    const nested = [...refs.keys()].filter((ref) => ref.includes('#'));
    const used = new Set(sbom.dependencies.flatMap(({ dependsOn }) => dependsOn));
    expect(nested.filter((ref) => !used.has(ref))).toEqual([]);
  });

  it('the list of licences has each of them, and texts', () => {
    for (const { name, version, license } of locked) {
      expect(licences).toContain(`\n${name} ${version}: ${license}\n`);
      expect(licences).toContain(`\n${'='.repeat(80)}\n${name} ${version}\n\n`);
    }
    expect(licences.match(/Permission is hereby granted/g)?.length).toBeGreaterThan(20);
    expect(licences).not.toMatch(/vitest|biome/);
  });

  it('nothing of it tells where it was made', () => {
    expect(JSON.stringify(sbom)).not.toContain(ROOT);
    expect(licences).not.toContain(ROOT);
  });
});

describe('of a project with one package', () => {
  function project(name: string, license: unknown): string {
    const root = path.join(folder, name);
    mkdirSync(path.join(root, 'node_modules/one'), { recursive: true });
    const write = (file: string, value: unknown) => writeFileSync(path.join(root, file), JSON.stringify(value));
    const dependencies = { one: '1.0.0' };
    write('package.json', { name: 'project', version: '1.0.0', dependencies });
    write('node_modules/one/package.json', { name: 'one', version: '1.0.0', license });
    write('package-lock.json', {
      name: 'project',
      version: '1.0.0',
      lockfileVersion: 3,
      packages: { '': { name: 'project', version: '1.0.0', dependencies }, 'node_modules/one': { version: '1.0.0' } },
    });
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
  ])('%s is refused, and nothing is written', (name, license) => {
    const root = project(name, license);
    const { status, stderr } = run(root, 'out');
    expect(stderr).toMatch(/^one 1\.0\.0: .*, which is not permitted\n$/);
    expect(status).toBe(1);
    expect(existsSync(path.join(root, 'out'))).toBe(false);
  });

  it('a permitted expression is taken', () => {
    expect(run(project('permitted', '(MIT AND Zlib)'), 'out')).toMatchObject({ status: 0 });
  });

  it('without a folder it says how it is used', () => {
    expect(run(ROOT)).toMatchObject({ status: 64, stderr: 'usage: npm run sbom -- FOLDER\n' });
  });
});
