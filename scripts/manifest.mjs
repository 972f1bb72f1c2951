#!/usr/bin/env node
/**
 * package.json as it is published: dist/ has all that runs, so whoever installs it needs no other package and no script.
 *
 * `node scripts/manifest.mjs strip` puts it in place of package.json, and keeps that one in build/. `node scripts/manifest.mjs restore`
 * brings it back. `npm pack` runs both, before and after it has read the files. Where it was killed between, restore by hand.
 */
import { copyFileSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const MANIFEST = 'package.json';
const KEPT = 'build/package.json';
const EXIT_USAGE = 64;

/** `private` keeps `npm publish` from sending a folder: it would tell the registry of the dependencies all the same. */
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
