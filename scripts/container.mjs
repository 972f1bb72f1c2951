#!/usr/bin/env node
/**
 * `node scripts/container.mjs [--file FILE] [--context FOLDER] [--once] [--archive FILE]`, as root on Debian: builds the image of the
 * Dockerfile with buildah, which needs no container engine; builds it again, and compares both; then starts the image as its user on a
 * read-only tree, and queries, drains and stops it. Exit code 0 if all of this succeeds, otherwise 1 with the reason. --once skips the second build;
 * --archive writes the image, for `docker load`. BUILD_COMMIT and SOURCE_DATE_EPOCH are its commit and time.
 *
 * It runs in separate mount and process namespaces (unshare(1)), so its mounts and processes end with it. The base image consists of files
 * of this machine and the Node.js that runs this script (container/base-image.mjs); npm gets packages from its configured registry.
 * If that Node.js has known vulnerabilities, the image is labelled d2-sidecar.for-release=no, and the last line says why.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Buildah } from './container/buildah.mjs';
import { mount } from './container/mounts.mjs';
import { compareTrees, listFaults, listTree } from './container/tree.mjs';
import { tryOut } from './container/trial.mjs';

const SCRIPT = fileURLToPath(import.meta.url);
const CONTEXT = path.resolve(path.dirname(SCRIPT), '..');
const TAG = `d2-sidecar:${JSON.parse(readFileSync(path.join(CONTEXT, 'package.json'), 'utf8')).version}`;
const INSIDE = 'CONTAINER_FOLDER';
const { BUILD_COMMIT = '0123456789ab', SOURCE_DATE_EPOCH = '1700000000' } = process.env;
const BYTES_PER_MB = 1_000_000;
const PROGRAMS = ['buildah', 'dpkg', 'unshare', 'mount', 'setpriv', 'chroot'];

const say = (line) => void process.stdout.write(`${line}\n`);

const { values } = parseArgs({
  options: {
    file: { type: 'string', default: path.join(CONTEXT, 'Dockerfile') },
    context: { type: 'string', default: CONTEXT },
    once: { type: 'boolean', default: false },
    archive: { type: 'string' },
  },
});
process.exit(process.env[INSIDE] === undefined ? enter() : await main(process.env[INSIDE]));

/** Runs this script again in new namespaces. */
function enter() {
  const obstacle = findObstacle();
  if (obstacle !== undefined) {
    process.stderr.write(`container: ${obstacle}\n`);
    return 1;
  }
  const folder = mkdtempSync(path.join(tmpdir(), 'd2s-container-'));
  const words = [
    '--mount',
    '--pid',
    '--fork',
    '--kill-child',
    '--mount-proc',
    process.execPath,
    ...process.argv.slice(1),
  ];
  try {
    const { status, error } = spawnSync('unshare', words, {
      stdio: 'inherit',
      env: { ...process.env, [INSIDE]: folder },
    });
    if (error !== undefined) throw error;
    return status ?? 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A missing requirement of this machine; a later error would be harder to understand. */
function findObstacle() {
  if (process.platform !== 'linux') return `runs only on Linux, and this is ${process.platform}`;
  if (process.getuid() !== 0) return 'needs root for its mounts: sudo node scripts/container.mjs';
  const missing = PROGRAMS.filter((program) => spawnSync(program, ['--version']).error !== undefined);
  return missing.length === 0
    ? undefined
    : `not found: ${missing.join(', ')} (Debian packages: buildah, dpkg, util-linux, mount and coreutils)`;
}

async function main(folder) {
  try {
    // buildah would cache layers in /var.
    mount(['--bind', '/var', '/var']);
    mount(['-o', 'remount,bind,ro', '/var']);
    mount(['-t', 'tmpfs', 'none', folder]);
    const buildah = new Buildah(path.join(folder, 'images'));
    const args = { BUILD_COMMIT, SOURCE_DATE_EPOCH };
    const dockerfile = readFileSync(values.file, 'utf8');
    if (/^ARG NODE_IMAGE=/m.test(dockerfile)) args.NODE_IMAGE = buildah.makeBase();
    // Only here, because it needs packages, which the checks above do not.
    const { findTrialReason } = await import('./runtime.mjs');
    const trialReason = await findTrialReason();
    if (/^ARG FOR_RELEASE=/m.test(dockerfile) && trialReason !== undefined) args.FOR_RELEASE = 'no';
    const make = () => buildah.build({ file: values.file, context: values.context, args, epoch: SOURCE_DATE_EPOCH });
    const image = make();
    const tree = listTree(image.root);
    refuse(listFaults(tree));
    const bytes = tree.reduce((sum, one) => sum + one.bytes, 0);
    say(`${tree.length} entries, ${Math.round(bytes / BYTES_PER_MB)} MB`);
    if (!values.once) {
      refuse(compareTrees(tree, listTree(make().root)));
      say('a second build gives the same bytes and times');
    }
    const guide = readFileSync(path.join(CONTEXT, 'docs/install.md'), 'utf8');
    for (const hasTmp of [true, false])
      await tryOut({ image, folder: path.join(folder, `trial-${hasTmp}`), hasTmp, guide, say });
    if (values.archive !== undefined) await buildah.save(image, TAG, SOURCE_DATE_EPOCH, path.resolve(values.archive));
    if (trialReason !== undefined) say(trialReason);
    return 0;
  } catch (error) {
    process.stderr.write(`container: ${error.message}\n`);
    return 1;
  }
}

function refuse(faults) {
  if (faults.length > 0) throw new Error(faults.slice(0, 10).join('\n'));
}
