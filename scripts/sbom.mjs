#!/usr/bin/env node
/**
 * `npm run sbom -- FOLDER` writes what a release is made of: the packages whose code the build puts into dist/, and those that
 * package.json has installed beside it (`dependencies`, with what they need). Not what it is only built and tested with. Run it where
 * package.json is, after `npm ci`. The same packages give the same files.
 *
 * - `sbom.cdx.json`: CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json/), with version, licence and hash of each, and what needs what.
 * - `licences.txt`: their licences in a list, and then the texts that come with them, which have to be passed on.
 *
 * What is in dist/ is asked of the bundler, by rolldown.config.js, without writing it: no list of it can be out of date. A project
 * without that file has no bundle.
 *
 * Exit code 1, and a line for each package that is the reason, if a licence is not known or not one of PERMITTED.
 *
 * Not by `npm sbom --omit=dev`: with npm 11 it also leaves out what production and development share.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';

/** Licences that ask for no more than their text (SPDX). Whatever else a dependency brings has to be looked at by a person. */
const PERMITTED = new Set('0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause BlueOak-1.0.0 CC0-1.0 ISC MIT Zlib'.split(' '));

const EXIT_USAGE = 64;
const TEXT_FILE = /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/i;
const MODULES = 'node_modules/';
const BUNDLER_CONFIG = 'rolldown.config.js';
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
  const project = readJson('package.json');
  const installed = listInstalled();
  const packages = toReleased(installed, await listBundled());
  const refused = packages.filter(({ licence }) => !isPermitted(licence));
  for (const { name, version, licence } of refused) {
    process.stderr.write(`${name} ${version}: ${licence ?? 'no licence is named'}, which is not permitted\n`);
  }
  if (refused.length > 0) return 1;
  mkdirSync(target, { recursive: true });
  writeFileSync(
    path.join(target, 'sbom.cdx.json'),
    `${JSON.stringify(toSbom(project, packages, installed), undefined, 2)}\n`,
  );
  writeFileSync(path.join(target, 'licences.txt'), toLicenceText(project, packages));
  process.stdout.write(`${packages.length} packages, all under permitted licences\n`);
  return 0;
}

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** All that is installed, by its place in node_modules; what is optional may be there or not. */
function listInstalled() {
  const { packages } = readJson('package-lock.json');
  return Object.entries(packages)
    .filter(([place]) => place !== '')
    .filter(([place, { optional, devOptional }]) => !(optional || devOptional) || existsSync(place))
    .map(([place, { version, integrity, dev, dependencies, optionalDependencies }]) => {
      const needs = Object.keys({ ...dependencies, ...optionalDependencies });
      return { place, version, integrity, isForDevelopment: dev === true, needs };
    });
}

/** Places of the packages that have code in the bundle, e.g. `node_modules/preact`. */
async function listBundled() {
  const places = new Set();
  if (!existsSync(BUNDLER_CONFIG)) return places;
  const { rolldown } = await import('rolldown');
  const { default: configs } = await import(pathToFileURL(path.resolve(BUNDLER_CONFIG)).href);
  for (const { output, ...input } of [configs].flat()) {
    const bundle = await rolldown({ ...input, logLevel: 'silent' });
    const { output: files } = await bundle.generate(output);
    await bundle.close();
    // Of a chunk: modules without those that nothing of is left.
    for (const { modules = {} } of files) for (const id of Object.keys(modules)) places.add(toPlace(id));
  }
  places.delete(undefined);
  return places;
}

/** Undefined for a module of this project. */
function toPlace(id) {
  if (id.startsWith(BUNDLER_MODULE)) return `${MODULES}rolldown`;
  const [place] = PACKAGE_IN_PATH.exec(path.relative('.', id)) ?? [];
  return place;
}

function toReleased(installed, bundled) {
  const known = new Set(installed.map(({ place }) => place));
  for (const place of bundled)
    if (!known.has(place)) throw new Error(`${place} is in the bundle, and not in package-lock.json`);
  return installed
    .filter(({ place, isForDevelopment }) => !isForDevelopment || bundled.has(place))
    .map((one) => {
      const { name, license } = readJson(path.join(one.place, 'package.json'));
      return { ...one, name, licence: typeof license === 'string' && license.trim() !== '' ? license : undefined };
    });
}

/** Every licence that an SPDX expression names, so that `MIT OR X` asks for a person, too. */
function isPermitted(licence) {
  if (licence === undefined) return false;
  const names = licence.split(/[\s()]+/).filter((word) => word !== '' && word !== 'AND' && word !== 'OR');
  return names.length > 0 && names.every((name) => PERMITTED.has(name));
}

function toSbom({ name, version, description, license, dependencies, devDependencies }, packages, installed) {
  const purl = toPurl({ name, version });
  const component = { 'bom-ref': purl, type: 'application', name, version, description, purl };
  const released = new Map(packages.map((one) => [one.place, one]));
  const places = new Map(installed.map(({ place }) => [place, released.get(place)]));
  const edges = packages.map((one) => ({ ref: toRef(one), dependsOn: toRefs(one.needs, one.place, places) }));
  const own = toRefs(Object.keys({ ...dependencies, ...devDependencies }), '', places);
  // Where the package between is not in it, e.g. since it only passes on what another one has.
  const needed = new Set([...own, ...edges.flatMap(({ dependsOn }) => dependsOn)]);
  const root = { ref: purl, dependsOn: [...own, ...packages.map(toRef).filter((ref) => !needed.has(ref))] };
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      lifecycles: [{ phase: 'build' }],
      component: license === undefined ? component : { ...component, licenses: toLicenses(license) },
    },
    components: packages.map(toComponent),
    dependencies: [root, ...edges],
  };
}

function toComponent({ place, name, version, licence, integrity }) {
  return {
    'bom-ref': toRef({ place, name, version }),
    type: 'library',
    name,
    version,
    scope: 'required',
    purl: toPurl({ name, version }),
    licenses: toLicenses(licence),
    hashes: toHashes(integrity),
  };
}

/** One version may be installed at several places, and each needs a name of its own. */
function toRef({ place, name, version }) {
  const isOnTop = place === `${MODULES}${name}`;
  return isOnTop ? toPurl({ name, version }) : `${toPurl({ name, version })}#${place}`;
}

/** https://github.com/package-url/purl-spec/blob/main/types-doc/npm-definition.md */
function toPurl({ name, version }) {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

function toLicenses(licence) {
  return [/[\s()]/.test(licence) ? { expression: licence } : { license: { id: licence } }];
}

/** `sha512-<base64>`, as https://www.w3.org/TR/SRI/ writes it. */
function toHashes(integrity = '') {
  return integrity
    .split(' ')
    .filter((one) => one !== '')
    .map((one) => {
      const [algorithm = '', base64 = ''] = one.split(/-(.*)/s);
      return { alg: algorithm.replace('sha', 'SHA-'), content: Buffer.from(base64, 'base64').toString('hex') };
    });
}

/**
 * Node looks in the package's own node_modules, then in that of each package around it. `places` has all that is installed, with
 * undefined for what is not released: found there, it is not looked for further out.
 */
function toRefs(needs, place, places) {
  return needs.flatMap((need) => {
    for (let around = place; ; around = around.slice(0, Math.max(0, around.lastIndexOf(`/${MODULES}`)))) {
      const at = `${around === '' ? '' : `${around}/`}${MODULES}${need}`;
      const found = places.get(at);
      if (places.has(at)) return found === undefined ? [] : [toRef(found)];
      if (around === '') return [];
    }
  });
}

function toLicenceText(project, packages) {
  const list = packages.map(({ name, version, licence }) => `${name} ${version}: ${licence}`);
  const texts = packages.map(
    ({ place, name, version }) => `${'='.repeat(80)}\n${name} ${version}\n\n${textsOf(place)}`,
  );
  return `${project.name} ${project.version} is made of, or runs with, these packages:\n\n${list.join('\n')}\n\n${texts.join('\n')}`;
}

function textsOf(place) {
  const files = readdirSync(place)
    .filter((file) => TEXT_FILE.test(file))
    .sort();
  if (files.length === 0) return 'The package comes without a text of its licence.\n';
  return files.map((file) => `${readFileSync(path.join(place, file), 'utf8').trim()}\n`).join('\n');
}
