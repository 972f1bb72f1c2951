#!/usr/bin/env node
/**
 * `node .ci/deb.mjs FOLDER [VERSION]`, after `npm run build`: writes FOLDER/d2-sidecar_<version>_all.deb, with VERSION in place of that of
 * package.json. The same files give the same package: its times are SOURCE_DATE_EPOCH (default 0), its owner is root.
 *
 * With dpkg-deb alone: there is nothing to compile, and debhelper would bring more rules than there are files. What is installed and what
 * runs on installing is in config/debian/, beside the unit that it installs.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const EXIT_USAGE = 64;
const BYTES_PER_KIB = 1024;
/** Where they are installed -> where they come from. */
const FILES = {
  'usr/lib/d2-sidecar/dist': 'dist',
  'usr/lib/d2-sidecar/package.json': 'package.json',
  'usr/lib/d2-sidecar/schema.json': 'config/schema.json',
  'usr/lib/systemd/system/d2-sidecar.service': 'config/systemd/d2-sidecar.service',
  'etc/d2-sidecar/sidecar.yaml': 'config/sidecar.yaml',
  'usr/share/doc/d2-sidecar/copyright': 'LICENSE',
  'usr/share/doc/d2-sidecar/NEWS': 'CHANGELOG.md',
};
const SCRIPTS = ['postinst', 'prerm', 'postrm'];

const [folder, version, ...rest] = process.argv.slice(2);
if (folder === undefined || rest.length > 0) {
  process.stderr.write('usage: node .ci/deb.mjs FOLDER [VERSION]\n');
  process.exit(EXIT_USAGE);
}
const tree = mkdtempSync(path.join(tmpdir(), 'd2s-deb-'));
try {
  process.stdout.write(`${make(tree, path.resolve(folder))}\n`);
} catch (error) {
  process.stderr.write(`deb: ${error.message}\n`);
  process.exitCode = 1;
} finally {
  rmSync(tree, { recursive: true, force: true });
}

function make(root, target) {
  for (const [to, from] of Object.entries(FILES)) copy(from, path.join(root, to));
  const main = path.join(root, 'usr/lib/d2-sidecar/dist/main.js');
  // Debian's node, whatever else a PATH finds first.
  edit(main, /^#!.*/, '#!/usr/bin/node');
  edit(
    path.join(root, 'etc/d2-sidecar/sidecar.yaml'),
    '$schema=./schema.json',
    '$schema=/usr/lib/d2-sidecar/schema.json',
  );
  mkdirSync(path.join(root, 'usr/bin'));
  symlinkSync('../lib/d2-sidecar/dist/main.js', path.join(root, 'usr/bin/d2-sidecar'));
  setModes(root);
  chmodSync(main, 0o755);
  const control = path.join(root, 'DEBIAN');
  const debianVersion = toDebianVersion(
    version ?? JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')).version,
  );
  copy('config/debian/control', path.join(control, 'control'));
  edit(path.join(control, 'control'), '@VERSION@', debianVersion);
  edit(path.join(control, 'control'), '@SIZE@', String(Math.ceil(sizeOf(root) / BYTES_PER_KIB)));
  writeFileSync(path.join(control, 'conffiles'), '/etc/d2-sidecar/sidecar.yaml\n');
  for (const name of SCRIPTS) copy(`config/debian/${name}`, path.join(control, name));
  setModes(control);
  for (const name of SCRIPTS) chmodSync(path.join(control, name), 0o755);
  const epoch = process.env.SOURCE_DATE_EPOCH || '0';
  setTimes(root, Number(epoch));
  const file = path.join(target, `d2-sidecar_${debianVersion}_all.deb`);
  mkdirSync(target, { recursive: true });
  const { status, stderr, error } = spawnSync('dpkg-deb', ['--root-owner-group', '-Zxz', '--build', root, file], {
    encoding: 'utf8',
    env: { ...process.env, SOURCE_DATE_EPOCH: epoch },
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`dpkg-deb ended with ${status}: ${stderr.trim()}`);
  return file;
}

/** `1.0.0-rc.1` is before `1.0.0`, which Debian writes with a tilde. */
function toDebianVersion(text) {
  if (!/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?$/.test(text)) throw new Error(`${text}: not a version`);
  return text.replace('-', '~');
}

function copy(from, to) {
  mkdirSync(path.dirname(to), { recursive: true });
  cpSync(path.join(ROOT, from), to, { recursive: true });
}

function edit(file, from, to) {
  const before = readFileSync(file, 'utf8');
  const after = before.replace(from, () => to);
  if (after === before) throw new Error(`${file}: ${from} is not in it`);
  writeFileSync(file, after);
}

/** Those of a package, and not those of whoever makes it. */
function setModes(root) {
  chmodSync(root, 0o755);
  for (const { name, parentPath, isFile, isFolder } of entriesOf(root)) {
    if (isFolder) chmodSync(path.join(parentPath, name), 0o755);
    else if (isFile) chmodSync(path.join(parentPath, name), 0o644);
  }
}

function setTimes(root, epoch) {
  for (const { name, parentPath } of entriesOf(root)) lutimesSync(path.join(parentPath, name), epoch, epoch);
  lutimesSync(root, epoch, epoch);
}

function sizeOf(root) {
  const files = entriesOf(root).filter(({ isFile }) => isFile);
  return files.reduce((sum, { name, parentPath }) => sum + readFileSync(path.join(parentPath, name)).length, 0);
}

/** Deepest first, so that the times of folders stay. */
function entriesOf(root) {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .map((entry) => ({
      name: entry.name,
      parentPath: entry.parentPath ?? entry.path,
      isFile: entry.isFile(),
      isFolder: entry.isDirectory(),
    }))
    .reverse();
}
