#!/usr/bin/env node
/**
 * `node scripts/deb.mjs FOLDER [VERSION]`, after `npm run build`: writes FOLDER/d2-sidecar_<version>_all.deb. VERSION replaces the version
 * of package.json. The same files give the same package: all times are SOURCE_DATE_EPOCH, all owners are root. DEBFULLNAME and DEBEMAIL
 * name the maintainer, as for Debian's tools.
 *
 * It needs only dpkg-deb: there is nothing to compile, and debhelper would need more rules than there are files. config/debian/ has the
 * control file and the maintainer scripts, config/systemd/ the unit.
 *
 * The package depends on a Node.js without known vulnerabilities. If the one that runs this script has some, the package is only for
 * trials: it accepts any Node.js, its version ends in ~trial, and the last line says why.
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
import { gzipSync } from 'node:zlib';
import { toPublished } from './manifest.mjs';
import { findTrialReason, loadAdvisories } from './runtime.mjs';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const EXIT_USAGE = 64;
const BYTES_PER_KIB = 1024;
/** Path in the package -> path in the project. */
const FILES = {
  'usr/lib/d2-sidecar/dist': 'dist',
  'usr/lib/d2-sidecar/config/sidecar.yaml': 'config/sidecar.yaml',
  'usr/lib/d2-sidecar/config/schema.json': 'config/schema.json',
  'usr/lib/d2-sidecar/set-sockets': 'config/debian/set-sockets',
  'usr/lib/d2-sidecar/add-sidecar': 'config/debian/add-sidecar',
  'usr/lib/systemd/system/d2-sidecar.service': 'config/systemd/d2-sidecar.service',
  'usr/lib/systemd/system/d2-sidecar.socket': 'config/systemd/d2-sidecar.socket',
  'usr/lib/systemd/system/d2-sidecar-monitor.socket': 'config/systemd/d2-sidecar-monitor.socket',
  'etc/d2-sidecar/sidecar.yaml': 'config/sidecar.yaml',
  'usr/share/doc/d2-sidecar/NEWS': 'CHANGELOG.md',
};
const DOCUMENTS = 'usr/share/doc/d2-sidecar';
/** The time that npm uses in its packages: Debian's archive rejects files older than 1985. */
const DEFAULT_EPOCH = '499162500';
const MS_PER_SECOND = 1000;
const SCRIPTS = ['postinst', 'prerm', 'postrm'];

const [folder, version, ...rest] = process.argv.slice(2);
if (folder === undefined || rest.length > 0) {
  process.stderr.write('usage: node scripts/deb.mjs FOLDER [VERSION]\n');
  process.exit(EXIT_USAGE);
}
const trialReason = await findTrialReason();
const dependency = trialReason === undefined ? toDependency((await loadAdvisories()).listSafeRuntimes()) : 'nodejs';
const tree = mkdtempSync(path.join(tmpdir(), 'd2s-deb-'));
try {
  process.stdout.write(`${make(tree, path.resolve(folder))}\n`);
  if (trialReason !== undefined) process.stderr.write(`deb: ${trialReason}\n`);
} catch (error) {
  process.stderr.write(`deb: ${error.message}\n`);
  process.exitCode = 1;
} finally {
  rmSync(tree, { recursive: true, force: true });
}

function make(root, target) {
  const epoch = process.env.SOURCE_DATE_EPOCH || DEFAULT_EPOCH;
  const written = version ?? JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')).version;
  const debianVersion = `${toDebianVersion(written)}${trialReason === undefined ? '' : '~trial'}`;
  const maintainer = toMaintainer();
  layOut(root);
  describe(root, { debianVersion, maintainer, epoch: Number(epoch) });
  setModes(root);
  for (const program of ['dist/main.js', 'set-sockets', 'add-sidecar'])
    chmodSync(path.join(root, 'usr/lib/d2-sidecar', program), 0o755);
  control(root, debianVersion, maintainer);
  setTimes(root, Number(epoch));
  const file = path.join(target, `d2-sidecar_${debianVersion}_all.deb`);
  mkdirSync(target, { recursive: true });
  run('dpkg-deb', ['--root-owner-group', '-Zxz', '--build', root, file], { SOURCE_DATE_EPOCH: epoch });
  return file;
}

function layOut(root) {
  for (const [to, from] of Object.entries(FILES)) copy(from, path.join(root, to));
  const manifest = readFileSync(path.join(ROOT, 'package.json'), 'utf8');
  writeFileSync(path.join(root, 'usr/lib/d2-sidecar/package.json'), toPublished(manifest));
  // Debian's node, not the first in PATH. V8's memory reducer is off, as in the Dockerfile.
  edit(path.join(root, 'usr/lib/d2-sidecar/dist/main.js'), /^#!.*/, '#!/usr/bin/node --no-memory-reducer');
  edit(
    path.join(root, 'etc/d2-sidecar/sidecar.yaml'),
    '$schema=./schema.json',
    '$schema=/usr/lib/d2-sidecar/config/schema.json',
  );
  // `d2-sidecar print licences` reads it.
  const licences = path.join(root, 'usr/lib/d2-sidecar/dist/licences');
  rmSync(licences, { recursive: true, force: true });
  symlinkSync(path.relative(path.dirname(licences), path.join(root, DOCUMENTS)), licences);
  mkdirSync(path.join(root, 'usr/bin'));
  symlinkSync('../lib/d2-sidecar/dist/main.js', path.join(root, 'usr/bin/d2-sidecar'));
}

/** Writes licences, changelog and manual to the paths of the Debian policy. */
function describe(root, { debianVersion, maintainer, epoch }) {
  const place = path.join(root, DOCUMENTS);
  // The licences of bundled packages require their texts. Debian's policy allows no full text of the Apache License in `copyright`.
  run(process.execPath, ['scripts/sbom.mjs', place]);
  const [list] = readFileSync(path.join(place, 'licences.txt'), 'utf8').split(`\n${'='.repeat(80)}\n`);
  const own = readFileSync(path.join(ROOT, 'LICENSE'), 'utf8');
  const texts = `Their texts: /${DOCUMENTS}/licences.txt; that of the Apache License 2.0 is also /usr/share/common-licenses/Apache-2.0.`;
  writeFileSync(path.join(place, 'copyright'), `${own}\n${list.trim()}\n\n${texts}\n`);
  const date = new Date(epoch * MS_PER_SECOND).toUTCString().replace('GMT', '+0000');
  const entry = `  * What has changed is in /usr/share/doc/d2-sidecar/NEWS.\n\n -- ${maintainer}  ${date}\n`;
  compress(path.join(place, 'changelog.gz'), `d2-sidecar (${debianVersion}) unstable; urgency=medium\n\n${entry}`);
  const manual = path.join(root, 'usr/share/man/man1');
  mkdirSync(manual, { recursive: true });
  compress(path.join(manual, 'd2-sidecar.1.gz'), toManual(run(process.execPath, ['dist/main.js', '--help'])));
}

/** The text of --help as man(7): a heading with indented lines becomes a section, other text a paragraph. */
function toManual(help) {
  const toLine = (line) =>
    line
      .replaceAll('\\', '\\e')
      .replaceAll('-', '\\-')
      .replace(/^(?=[.'])/, '\\&');
  const [title, ...blocks] = help.trim().split('\n\n');
  const name = title.replace(': ', ' \\- ').replace(/\.$/, '');
  const sections = blocks.map((block) => {
    const [heading, ...lines] = block.split('\n');
    const isSection = lines.length > 0 && lines.every((line) => line.startsWith('  '));
    if (!isSection) return ['.PP', ...block.split('\n').map(toLine)].join('\n');
    return [`.SH ${heading.toUpperCase()}`, '.nf', ...lines.map((line) => toLine(line.slice(2))), '.fi'].join('\n');
  });
  return ['.TH D2\\-SIDECAR 1', '.SH NAME', name, ...sections, ''].join('\n');
}

function control(root, debianVersion, maintainer) {
  const place = path.join(root, 'DEBIAN');
  const file = path.join(place, 'control');
  copy('config/debian/control', file);
  edit(file, '@VERSION@', debianVersion);
  edit(file, '@MAINTAINER@', maintainer);
  edit(file, '@NODEJS@', dependency);
  edit(file, '@SIZE@', String(Math.ceil(sizeOf(root) / BYTES_PER_KIB)));
  writeFileSync(path.join(place, 'conffiles'), '/etc/d2-sidecar/sidecar.yaml\n');
  for (const name of SCRIPTS) copy(`config/debian/${name}`, path.join(place, name));
  setModes(place);
  for (const name of SCRIPTS) chmodSync(path.join(place, name), 0o755);
}

/** `22.23.4`, `24.22.1`: at least the first, and either of a line before 23 or at least the second. */
function toDependency([oldest, ...newer], lines = [oldest, ...newer].map((one) => Number.parseInt(one, 10))) {
  const further = newer.map((one, i) => `nodejs (<< ${lines[i] + 1}) | nodejs (>= ${one})`);
  return [`nodejs (>= ${oldest})`, ...further].join(', ');
}

/** The defaults are for a package that stays on the machine that built it. */
function toMaintainer() {
  const { DEBFULLNAME = 'The d2-sidecar maintainers', DEBEMAIL = 'root@localhost' } = process.env;
  if (/[\n<>]/.test(`${DEBFULLNAME}${DEBEMAIL}`))
    throw new Error('DEBFULLNAME, DEBEMAIL: expected no <, > or line break');
  return `${DEBFULLNAME} <${DEBEMAIL}>`;
}

/** Returns the standard output. */
function run(program, args, env = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: ROOT,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${program} ${args[0]} ended with ${status}: ${stderr.trim()}`);
  return stdout;
}

function compress(file, text) {
  writeFileSync(file, gzipSync(text, { level: 9 }));
}

/** `1.0.0-rc.1` to `1.0.0~rc.1`: Debian sorts the tilde before the release. */
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
  if (after === before) throw new Error(`${file}: ${from} not found`);
  writeFileSync(file, after);
}

/** Fixed modes, independent of the umask of the build. */
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

/** Deepest entries first, so that the times of folders stay. */
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
