#!/usr/bin/env node
/**
 * `npm run sbom -- FOLDER` writes what a release is made of: the packages that it runs with, and not those that it is built and
 * tested with. Run it where package.json is, after `npm ci`. The same packages give the same files.
 *
 * - `sbom.cdx.json`: CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json/), with version, licence and hash of each, and what needs what.
 * - `licences.txt`: their licences in a list, and then the texts that come with them, which have to be passed on.
 *
 * Exit code 1, and a line for each package that is the reason, if a licence is not known or not one of PERMITTED.
 *
 * Not by `npm sbom --omit=dev`: with npm 11 it also leaves out what production and development share.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';

/** Licences that ask for no more than their text (SPDX). Whatever else a dependency brings has to be looked at by a person. */
const PERMITTED = new Set('0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause BlueOak-1.0.0 CC0-1.0 ISC MIT Zlib'.split(' '));

const EXIT_USAGE = 64;
const TEXT_FILE = /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/i;
const MODULES = 'node_modules/';

const [folder, ...rest] = process.argv.slice(2);
if (folder === undefined || rest.length > 0) {
  process.stderr.write('usage: npm run sbom -- FOLDER\n');
  process.exit(EXIT_USAGE);
}
process.exitCode = write(folder);

function write(target) {
  const project = readJson('package.json');
  const packages = listPackages();
  const refused = packages.filter(({ licence }) => !isPermitted(licence));
  for (const { name, version, licence } of refused) {
    process.stderr.write(`${name} ${version}: ${licence ?? 'no licence is named'}, which is not permitted\n`);
  }
  if (refused.length > 0) return 1;
  mkdirSync(target, { recursive: true });
  writeFileSync(path.join(target, 'sbom.cdx.json'), `${JSON.stringify(toSbom(project, packages), undefined, 2)}\n`);
  writeFileSync(path.join(target, 'licences.txt'), toLicenceText(project, packages));
  process.stdout.write(`${packages.length} packages, all under permitted licences\n`);
  return 0;
}

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** What is installed for production, by its place in node_modules; what is optional may be there or not. */
function listPackages() {
  const { packages } = readJson('package-lock.json');
  return Object.entries(packages)
    .filter(([place, { dev }]) => place !== '' && !dev)
    .filter(([place, { optional, devOptional }]) => !(optional || devOptional) || existsSync(place))
    .map(([place, { version, integrity, dependencies, optionalDependencies }]) => {
      const { name, license } = readJson(path.join(place, 'package.json'));
      const licence = typeof license === 'string' && license.trim() !== '' ? license : undefined;
      const needs = Object.keys({ ...dependencies, ...optionalDependencies });
      return { place, name, version, licence, integrity, needs };
    });
}

/** Every licence that an SPDX expression names, so that `MIT OR X` asks for a person, too. */
function isPermitted(licence) {
  if (licence === undefined) return false;
  const names = licence.split(/[\s()]+/).filter((word) => word !== '' && word !== 'AND' && word !== 'OR');
  return names.length > 0 && names.every((name) => PERMITTED.has(name));
}

function toSbom({ name, version, description, license, dependencies }, packages) {
  const purl = toPurl({ name, version });
  const component = { 'bom-ref': purl, type: 'application', name, version, description, purl };
  const places = new Map(packages.map((one) => [one.place, one]));
  const root = { ref: purl, dependsOn: toRefs(Object.keys(dependencies ?? {}), '', places) };
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
    dependencies: [
      root,
      ...packages.map((one) => ({ ref: toRef(one), dependsOn: toRefs(one.needs, one.place, places) })),
    ],
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

/** Node looks in the package's own node_modules, then in that of each package around it. */
function toRefs(needs, place, places) {
  return needs.flatMap((need) => {
    for (let around = place; ; around = around.slice(0, Math.max(0, around.lastIndexOf(`/${MODULES}`)))) {
      const found = places.get(`${around === '' ? '' : `${around}/`}${MODULES}${need}`);
      if (found !== undefined) return [toRef(found)];
      if (around === '') return [];
    }
  });
}

function toLicenceText(project, packages) {
  const list = packages.map(({ name, version, licence }) => `${name} ${version}: ${licence}`);
  const texts = packages.map(
    ({ place, name, version }) => `${'='.repeat(80)}\n${name} ${version}\n\n${textsOf(place)}`,
  );
  return `${project.name} ${project.version} runs with these packages:\n\n${list.join('\n')}\n\n${texts.join('\n')}`;
}

function textsOf(place) {
  const files = readdirSync(place)
    .filter((file) => TEXT_FILE.test(file))
    .sort();
  if (files.length === 0) return 'The package comes without a text of its licence.\n';
  return files.map((file) => `${readFileSync(path.join(place, file), 'utf8').trim()}\n`).join('\n');
}
