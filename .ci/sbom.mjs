#!/usr/bin/env node
/**
 * `npm run sbom -- FOLDER` writes what a release is made of: the packages that it runs with, and not those that it is built and
 * tested with. Run it where package.json is, after `npm ci`.
 *
 * - `sbom.cdx.json`: CycloneDX JSON, as `npm sbom` makes it, with version, licence, address and hash of each package.
 * - `licences.txt`: their licences in a list, and then the texts that come with them, which have to be passed on.
 *
 * Exit code 1, and a line for each package that is the reason, if a licence is not known or not one of PERMITTED.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';

/** Licences that ask for no more than their text (SPDX). Whatever else a dependency brings has to be looked at by a person. */
const PERMITTED = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Zlib',
]);

const EXIT_USAGE = 64;
const MAX_SBOM_BYTES = 64 * 1024 * 1024;
const TEXT_FILE = /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/i;

const [folder, ...rest] = process.argv.slice(2);
if (folder === undefined || rest.length > 0) {
  process.stderr.write('usage: npm run sbom -- FOLDER\n');
  process.exit(EXIT_USAGE);
}
process.exitCode = write(folder);

function write(target) {
  const project = JSON.parse(readFileSync('package.json', 'utf8'));
  const sbom = makeSbom(project);
  const packages = listPackages();
  const refused = packages.filter(({ licence }) => !isPermitted(licence));
  for (const { name, version, licence } of refused) {
    process.stderr.write(`${name} ${version}: ${licence ?? 'no licence is named'}, which is not permitted\n`);
  }
  if (refused.length > 0) return 1;
  mkdirSync(target, { recursive: true });
  writeFileSync(path.join(target, 'sbom.cdx.json'), `${JSON.stringify(sbom, undefined, 2)}\n`);
  writeFileSync(path.join(target, 'licences.txt'), toLicenceText(project, packages));
  process.stdout.write(`${packages.length} packages, all under permitted licences\n`);
  return 0;
}

function makeSbom(project) {
  const { status, stdout, stderr } = spawnSync('npm', ['sbom', '--omit=dev', '--sbom-format=cyclonedx'], {
    encoding: 'utf8',
    maxBuffer: MAX_SBOM_BYTES,
  });
  if (status !== 0) throw new Error(`npm sbom failed: ${stderr}`);
  const sbom = JSON.parse(stdout);
  // npm names the project after the folder that it happens to be in.
  Object.assign(sbom.metadata.component, { type: 'application', name: project.name });
  return sbom;
}

/** What is installed for production, by its place in node_modules. */
function listPackages() {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  return Object.entries(packages)
    .filter(([place, { dev, devOptional }]) => place !== '' && !dev && !devOptional)
    .map(([place, { version }]) => {
      const found = JSON.parse(readFileSync(path.join(place, 'package.json'), 'utf8'));
      return { place, name: found.name, version, licence: licenceOf(found) };
    });
}

function licenceOf({ license }) {
  return typeof license === 'string' && license.trim() !== '' ? license : undefined;
}

/** Every licence that an SPDX expression names, so that `MIT OR X` asks for a person, too. */
function isPermitted(licence) {
  if (licence === undefined) return false;
  const names = licence.split(/[\s()]+/).filter((word) => word !== '' && word !== 'AND' && word !== 'OR');
  return names.length > 0 && names.every((name) => PERMITTED.has(name));
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
