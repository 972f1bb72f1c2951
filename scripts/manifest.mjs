#!/usr/bin/env node
/**
 * The published package.json has no dependencies and no scripts: dist/ contains all code.
 *
 * `node scripts/manifest.mjs strip` moves package.json to build/ and writes the published one. `node scripts/manifest.mjs restore` moves it
 * back. `npm pack` runs both, before and after it reads the files. If it was killed in between, run restore by hand.
 */
import { copyFileSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const MANIFEST = 'package.json';
const KEPT = 'build/package.json';
const EXIT_USAGE = 64;

/** Removes `private`. In the project it forbids `npm publish`, which would send the dependencies to the registry. */
export function toPublished(text) {
  const { private: _, scripts, dependencies, devDependencies, overrides, ...published } = JSON.parse(text);
  return `${JSON.stringify(published, undefined, 2)}\n`;
}

function strip() {
  mkdirSync('build', { recursive: true });
  copyFileSync(MANIFEST, KEPT);
  writeFileSync(MANIFEST, toPublished(readFileSync(MANIFEST, 'utf8')));
}

function restore() {
  renameSync(KEPT, MANIFEST);
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const step = { strip, restore }[process.argv[2]];
  if (step === undefined) {
    process.stderr.write('usage: node scripts/manifest.mjs strip|restore\n');
    process.exit(EXIT_USAGE);
  }
  step();
}
