#!/usr/bin/env node
/**
 * `npm run sbom -- FOLDER` writes what a release is made of: the packages whose code the build puts into dist/. Run it where package.json
 * is, after `npm ci`. The same packages give the same files.
 *
 * - `sbom.cdx.json`: CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json/), with version, licence and hash of each, and what needs what.
 * - `licences.txt`: their licences in a list, and then the texts that come with them, which have to be passed on.
 *
 * `npm sbom` describes all packages of package-lock.json; the bundler is asked which of them have code in dist/, by rolldown.config.js,
 * without writing it: no list of it can be out of date.
 *
 * Exit code 1, and a line for each package that is the reason, if a licence is not known or not one of PERMITTED.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

/** Licences that ask for no more than their text (SPDX). Whatever else a dependency brings has to be looked at by a person. */
const PERMITTED = new Set('0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause BlueOak-1.0.0 CC0-1.0 ISC MIT Zlib'.split(' '));

const EXIT_USAGE = 64;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const TEXT_FILE = /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/i;
/** Names of modules that the bundler adds of its own code. */
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
  const refused = packages.filter(({ licence }) => !isPermitted(licence));
  for (const { name, version, licence } of refused) {
    process.stderr.write(`${name} ${version}: ${licence ?? 'no licence is named'}, which is not permitted\n`);
  }
  if (refused.length > 0) return 1;
  const sbom = toSbom(describeAll(), packages);
  mkdirSync(target, { recursive: true });
  writeFileSync(path.join(target, 'sbom.cdx.json'), `${JSON.stringify(sbom, undefined, 2)}\n`);
  writeFileSync(path.join(target, 'licences.txt'), toLicenceText(packages));
  process.stdout.write(`${packages.length} packages, all under permitted licences\n`);
  return 0;
}

/** `{ place, name, version, licence, ref }` of the packages that have code in the bundle, by place; `ref` is what `npm sbom` calls it. */
async function listBundled() {
  const places = new Set();
  const { default: configs } = await import(pathToFileURL(path.resolve('rolldown.config.js')).href);
  for (const { output, ...input } of [configs].flat()) {
    const bundle = await rolldown({ ...input, logLevel: 'silent' });
    const { output: files } = await bundle.generate(output);
    await bundle.close();
    // Of a chunk: modules without those that nothing of is left.
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

/** Every licence that an SPDX expression names, so that `MIT OR X` asks for a person, too. */
function isPermitted(licence) {
  if (licence === undefined) return false;
  const names = licence.split(/[\s()]+/).filter((word) => word !== '' && word !== 'AND' && word !== 'OR');
  return names.length > 0 && names.every((name) => PERMITTED.has(name));
}

/** Of all that package-lock.json has, whatever it is for. */
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
  // Where the package between is not in it, e.g. since it only passes on what another one has.
  const needed = new Set([...dependsOn, ...released.flatMap((edge) => edge.dependsOn)]);
  const root = { ref, dependsOn: [...dependsOn, ...[...refs].filter((one) => !needed.has(one))] };
  return {
    ...sbom,
    // Neither when it was made nor by which npm; and npm takes the folder's name.
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
