#!/usr/bin/env node
/**
 * `npm run sbom -- FOLDER` lists the packages whose code the build puts into dist/. Run it in the folder of package.json, after `npm ci`.
 * The same packages give the same files.
 *
 * - `sbom.cdx.json`: CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json/), with version, licence, hash and dependencies of each package.
 * - `licences.txt`: a list of their licences, then the licence texts, which a release must contain.
 *
 * `npm sbom` describes all packages of package-lock.json. The bundler, run with rolldown.config.js but without output,
 * lists those with code in dist/, so the result is never out of date.
 *
 * Exit code 1, and a line for each refused package, if a licence is missing or not in PERMITTED.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

/** SPDX ids of licences that only require their text. A person must review every other licence. */
const PERMITTED = new Set(
  '0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause BlueOak-1.0.0 CC0-1.0 ISC MIT MIT-0 Zlib'.split(' '),
);

/** Packages with a choice of licences, and the one that applies. A person has reviewed them. */
const CHOSEN = new Map([['node-forge (BSD-3-Clause OR GPL-2.0)', 'BSD-3-Clause']]);

const EXIT_USAGE = 64;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const TEXT_FILE = /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/i;
/** Prefix of the modules that contain code of the bundler. */
const BUNDLER_MODULE = '\0rolldown/';
const PACKAGE_IN_PATH = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/;

const [folder, ...rest] = process.argv.slice(2);
if (folder === undefined || rest.length > 0) {
  process.stderr.write('usage: npm run sbom -- FOLDER\n');
  process.exit(EXIT_USAGE);
}
process.exitCode = await write(folder);

async function write(target) {
  const packages = await listBundled();
  const refused = packages.filter(({ name, licence }) => !isPermitted(CHOSEN.get(`${name} ${licence}`) ?? licence));
  for (const { name, version, licence } of refused) {
    process.stderr.write(`${name} ${version}: ${licence ?? 'no licence'}, which is not permitted\n`);
  }
  if (refused.length > 0) return 1;
  const sbom = toSbom(describeAll(), packages);
  mkdirSync(target, { recursive: true });
  writeFileSync(path.join(target, 'sbom.cdx.json'), `${JSON.stringify(sbom, undefined, 2)}\n`);
  writeFileSync(path.join(target, 'licences.txt'), toLicenceText(packages));
  process.stdout.write(`${packages.length} packages, all under permitted licences\n`);
  return 0;
}

/** `{ place, name, version, licence, ref }` of the packages with code in the bundle, sorted by place; `ref` is their id in `npm sbom`. */
async function listBundled() {
  const places = new Set();
  const { default: configs } = await import(pathToFileURL(path.resolve('rolldown.config.js')).href);
  for (const { output, ...input } of [configs].flat()) {
    const bundle = await rolldown({ ...input, logLevel: 'silent' });
    const { output: files } = await bundle.generate(output);
    await bundle.close();
    // `modules` lacks modules that tree shaking removed completely.
    for (const { modules = {} } of files) for (const id of Object.keys(modules)) places.add(toPlace(id));
  }
  places.delete(undefined);
  return [...places].sort().map((place) => {
    const { name, version, license } = readJson(path.join(place, 'package.json'));
    const licence = typeof license === 'string' && license.trim() !== '' ? license : undefined;
    return { place, name, version, licence, ref: `${name}@${version}` };
  });
}

/** E.g. `node_modules/preact`; undefined for a module of this project. */
function toPlace(id) {
  if (id.startsWith(BUNDLER_MODULE)) return 'node_modules/rolldown';
  const [place] = PACKAGE_IN_PATH.exec(path.relative('.', id)) ?? [];
  return place;
}

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** Checks every licence of an SPDX expression, so that a person also reviews `MIT OR X`. */
function isPermitted(licence) {
  if (licence === undefined) return false;
  const names = licence.split(/[\s()]+/).filter((word) => word !== '' && word !== 'AND' && word !== 'OR');
  return names.length > 0 && names.every((name) => PERMITTED.has(name));
}

/** The SBOM of all packages in package-lock.json. */
function describeAll() {
  const words = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application'];
  const { status, stdout, stderr, error } = spawnSync('npm', words, { encoding: 'utf8', maxBuffer: MAX_OUTPUT_BYTES });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`npm ${words.join(' ')} ended with ${status}: ${stderr.trim()}`);
  return JSON.parse(stdout);
}

function toSbom({ serialNumber, metadata, components, dependencies, ...sbom }, packages) {
  const refs = new Set(packages.map(({ ref }) => ref));
  const known = new Set(components.map((component) => component['bom-ref']));
  for (const { place, ref } of packages)
    if (!known.has(ref)) throw new Error(`${place} is in the bundle, and ${ref} is not in package-lock.json`);
  const [{ ref, dependsOn }, ...edges] = dependencies.map((one) => ({
    ref: one.ref,
    dependsOn: one.dependsOn.filter((other) => refs.has(other)),
  }));
  const released = edges.filter((edge) => refs.has(edge.ref));
  // The root also lists packages without a dependent in the bundle, e.g. since the dependent only re-exports them.
  const needed = new Set([...dependsOn, ...released.flatMap((edge) => edge.dependsOn)]);
  const root = { ref, dependsOn: [...dependsOn, ...[...refs].filter((one) => !needed.has(one))] };
  return {
    ...sbom,
    // Without the time and the version of npm; npm would also use the folder's name.
    metadata: {
      lifecycles: [{ phase: 'build' }],
      component: { ...metadata.component, name: readJson('package.json').name, properties: [] },
    },
    components: components
      .filter((component) => refs.has(component['bom-ref']))
      .map((component) => ({ ...component, type: 'library', scope: 'required', properties: [] })),
    dependencies: [root, ...released],
  };
}

function toLicenceText(packages) {
  const { name, version } = readJson('package.json');
  const list = packages.map((one) => `${one.name} ${one.version}: ${one.licence}`);
  const texts = packages.map((one) => `${'='.repeat(80)}\n${one.name} ${one.version}\n\n${textsOf(one.place)}`);
  return `${name} ${version} is made of these packages:\n\n${list.join('\n')}\n\n${texts.join('\n')}`;
}

function textsOf(place) {
  const files = readdirSync(place)
    .filter((file) => TEXT_FILE.test(file))
    .sort();
  if (files.length === 0) return 'The package comes without a text of its licence.\n';
  return files.map((file) => `${readFileSync(path.join(place, file), 'utf8').trim()}\n`).join('\n');
}
