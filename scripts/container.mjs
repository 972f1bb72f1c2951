#!/usr/bin/env node
/**
 * `node scripts/container.mjs [--file FILE] [--context FOLDER] [--once]`, as root on Debian: builds the image of the Dockerfile with buildah, without a container
 * engine; builds it a second time, and compares; then starts the result as the user that it names, on a read-only tree, and asks, drains
 * and stops it. Exit code 0 if all of that holds, 1 with the reason if not. --once leaves out the second build.
 *
 * It takes namespaces of its own for mounts and processes (unshare(1)), so whatever it makes ends with it. The base image is made of this
 * machine and the Node.js that runs this script (container/base-image.mjs); the packages come from where npm gets them here.
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
const INSIDE = 'CONTAINER_FOLDER';
const COMMIT = '0123456789ab';
const BYTES_PER_MB = 1_000_000;
const PROGRAMS = ['buildah', 'dpkg', 'unshare', 'mount', 'setpriv', 'chroot'];

const say = (line) => void process.stdout.write(`${line}\n`);

const { values } = parseArgs({
  options: {
    file: { type: 'string', default: path.join(CONTEXT, 'Dockerfile') },
    context: { type: 'string', default: CONTEXT },
    once: { type: 'boolean', default: false },
  },
});
process.exit(process.env[INSIDE] === undefined ? enter() : await main(process.env[INSIDE]));

/** The same once more, in namespaces of its own. */
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

/** What this machine lacks; the reason of a step that fails later would be harder to read. */
function findObstacle() {
  if (process.platform !== 'linux') return `runs on Linux, and this is ${process.platform}`;
  if (process.getuid() !== 0) return 'has to be run as root, since it mounts: sudo node scripts/container.mjs';
  const missing = PROGRAMS.filter((program) => spawnSync(program, ['--version']).error !== undefined);
  return missing.length === 0
    ? undefined
    : `not found: ${missing.join(', ')} (of Debian's buildah, dpkg, util-linux, mount and coreutils)`;
}

async function main(folder) {
  try {
    // buildah would remember the layers of any image there.
    mount(['--bind', '/var', '/var']);
    mount(['-o', 'remount,bind,ro', '/var']);
    mount(['-t', 'tmpfs', 'none', folder]);
    const buildah = new Buildah(path.join(folder, 'images'));
    const args = { BUILD_COMMIT: COMMIT, SOURCE_DATE_EPOCH: '1700000000' };
    if (/^ARG NODE_IMAGE=/m.test(readFileSync(values.file, 'utf8'))) args.NODE_IMAGE = buildah.makeBase();
    const make = () => buildah.build({ file: values.file, context: values.context, args });
    const image = make();
    const tree = listTree(image.root);
    refuse(listFaults(tree));
    const bytes = tree.reduce((sum, one) => sum + one.bytes, 0);
    say(`${tree.length} entries, ${Math.round(bytes / BYTES_PER_MB)} MB`);
    if (!values.once) {
      refuse(compareTrees(tree, listTree(make().root)));
      say('a second build gives the same, to the byte and the second');
    }
    const guide = readFileSync(path.join(CONTEXT, 'docs/install.md'), 'utf8');
    for (const hasTmp of [true, false])
      await tryOut({ image, folder: path.join(folder, `trial-${hasTmp}`), hasTmp, guide, say });
    return 0;
  } catch (error) {
    process.stderr.write(`container: ${error.message}\n`);
    return 1;
  }
}

function refuse(faults) {
  if (faults.length > 0) throw new Error(faults.slice(0, 10).join('\n'));
}
