#!/usr/bin/env node
/**
 * `node scripts/packages.mjs FOLDER --executable FILE [--version VERSION] [--only deb|rpm]`: writes
 * FOLDER/d2-sidecar_<version>_amd64.deb and FOLDER/d2-sidecar-<version>-1.x86_64.rpm, which install FILE, the executable for Linux
 * (executable.mjs). VERSION replaces that of package.json. It needs dpkg-deb and rpmbuild (Debian packages dpkg and rpm).
 *
 * Both come from one tree of files and one description: the same files, modes, configuration and scripts (config/packages/lifecycle.sh).
 * The same input gives the same packages: all times are SOURCE_DATE_EPOCH, all owners are root. DEBFULLNAME and DEBEMAIL name the
 * maintainer, as for Debian's tools.
 *
 * If the Node.js in FILE has known vulnerabilities, the version of the packages ends in ~trial, and the last line says why.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { writeDeb } from './packages/deb.mjs';
import { writeRpm } from './packages/rpm.mjs';
import { loadAdvisories } from './runtime.mjs';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const EXIT_USAGE = 64;
const PROGRAM = 'usr/bin/d2-sidecar';
const SCHEMA = 'usr/lib/d2-sidecar/schema.json';
const CONFIGURATION = 'etc/d2-sidecar/sidecar.yaml';
const DOCUMENTS = 'usr/share/doc/d2-sidecar';
/** Path in the packages -> path in the project. */
const FILES = {
  'usr/lib/d2-sidecar/set-sockets': 'config/packages/set-sockets',
  'usr/lib/d2-sidecar/add-sidecar': 'config/packages/add-sidecar',
  [SCHEMA]: 'config/schema.json',
  'usr/lib/systemd/system/d2-sidecar.service': 'config/systemd/d2-sidecar.service',
  'usr/lib/systemd/system/d2-sidecar.socket': 'config/systemd/d2-sidecar.socket',
  'usr/lib/systemd/system/d2-sidecar-monitor.socket': 'config/systemd/d2-sidecar-monitor.socket',
  [CONFIGURATION]: 'config/sidecar.yaml',
  [`${DOCUMENTS}/CHANGELOG.md`]: 'CHANGELOG.md',
};
/** Files that are programs; all others have mode 0644. */
const PROGRAMS = [PROGRAM, 'usr/lib/d2-sidecar/set-sockets', 'usr/lib/d2-sidecar/add-sidecar'];
/** What both packages say of themselves; `owned` are folders that a removal deletes, `shared` is one that it leaves. */
const DESCRIPTION = {
  name: 'd2-sidecar',
  summary: 'reverse proxy that measures a D2000 application server',
  text: [
    'Relays the traffic of a D2000 application server (Tomcat or WildFly)',
    'unchanged and measures it: connected clients, the number and durations of',
    'procedure calls, monitored objects, and the condition of the Java virtual',
    'machine. Operators read the numbers from a separate monitoring port. It',
    'changes nothing in the server.',
  ],
  licence: 'MIT',
  configuration: [CONFIGURATION],
  owned: ['usr/lib/d2-sidecar', DOCUMENTS],
  shared: ['etc/d2-sidecar'],
};
const WRITERS = { deb: writeDeb, rpm: writeRpm };
/** The time that npm uses in its packages: Debian's archive rejects files older than 1985. */
const DEFAULT_EPOCH = '499162500';

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { executable: { type: 'string' }, version: { type: 'string' }, only: { type: 'string' } },
  });
  const formats = values.only === undefined ? Object.keys(WRITERS) : [values.only];
  if (positionals.length !== 1 || values.executable === undefined || !Object.hasOwn(WRITERS, formats[0]))
    throw new TypeError('expected: FOLDER --executable FILE [--version VERSION] [--only deb|rpm]');
  await make(path.resolve(positionals[0]), path.resolve(values.executable), values.version, formats);
} catch (error) {
  process.stderr.write(`packages: ${error.message}\n`);
  process.exitCode = error instanceof TypeError ? EXIT_USAGE : 1;
}

async function make(folder, executable, givenVersion, formats) {
  const epoch = process.env.SOURCE_DATE_EPOCH || DEFAULT_EPOCH;
  const manifest = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
  const holes = await findHoles(executable);
  const version = `${toPackageVersion(givenVersion ?? manifest.version)}${holes === undefined ? '' : '~trial'}`;
  const functions = readFileSync(path.join(ROOT, 'config/packages/lifecycle.sh'), 'utf8');
  const described = { ...DESCRIPTION, version, maintainer: toMaintainer(), functions };
  const place = mkdtempSync(path.join(tmpdir(), 'd2s-packages-'));
  process.umask(0o022);
  try {
    const tree = path.join(place, 'tree');
    layOut(tree, executable);
    const bytes = setModesAndTimes(tree, Number(epoch));
    mkdirSync(folder, { recursive: true });
    const pack = (program, args) => run(program, args, { SOURCE_DATE_EPOCH: epoch, LC_ALL: 'C' });
    for (const format of formats) {
      const files = listFiles(tree);
      const file = WRITERS[format]({ described, tree, files, bytes, place, folder, run: pack });
      process.stdout.write(`${file}\n`);
    }
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
  if (holes !== undefined) process.stderr.write(`packages: NOT FOR RELEASE: ${holes}\n`);
}

/** The known vulnerabilities of the Node.js in the executable; undefined if there is none. */
async function findHoles(executable) {
  const [, version] = /, Node v([\d.]+)\)$/m.exec(run(executable, ['--version'])) ?? [];
  if (version === undefined) throw new Error(`${executable} --version names no version of Node.js`);
  const { describeHoles } = await loadAdvisories();
  return describeHoles(version);
}

function layOut(tree, executable) {
  for (const [to, from] of Object.entries({ ...FILES, [PROGRAM]: executable })) {
    mkdirSync(path.dirname(path.join(tree, to)), { recursive: true });
    copyFileSync(path.resolve(ROOT, from), path.join(tree, to));
  }
  edit(path.join(tree, CONFIGURATION), '$schema=./schema.json', `$schema=/${SCHEMA}`);
  const documents = path.join(tree, DOCUMENTS);
  run(process.execPath, [path.join(ROOT, 'scripts/sbom.mjs'), documents]);
  const licences = run(executable, ['print', 'licences']);
  writeFileSync(path.join(documents, 'licences.txt'), licences);
  writeFileSync(path.join(documents, 'copyright'), toCopyright(licences));
  const manual = path.join(tree, 'usr/share/man/man1');
  mkdirSync(manual, { recursive: true });
  const text = toManual(run(executable, ['--help']));
  writeFileSync(path.join(manual, 'd2-sidecar.1.gz'), gzipSync(text, { level: 9 }));
}

/** Debian's policy allows no full text of the Apache License in `copyright`. */
function toCopyright(licences) {
  const [list] = licences.split(`\n${'='.repeat(80)}\n`);
  const own = readFileSync(path.join(ROOT, 'LICENSE'), 'utf8');
  const texts = `Their texts and those of Node.js: /${DOCUMENTS}/licences.txt; that of the Apache License 2.0 is also /usr/share/common-licenses/Apache-2.0.`;
  return `${own}\n${list.trim()}\n\n${texts}\n`;
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

/** The defaults are for a package that stays on the machine that built it. */
function toMaintainer() {
  const { DEBFULLNAME = 'The d2-sidecar maintainers', DEBEMAIL = 'root@localhost' } = process.env;
  if (/[\n<>%]/.test(`${DEBFULLNAME}${DEBEMAIL}`))
    throw new Error('DEBFULLNAME, DEBEMAIL: expected no <, >, % or line break');
  return `${DEBFULLNAME} <${DEBEMAIL}>`;
}

/** `1.0.0-rc.1` to `1.0.0~rc.1`: dpkg and rpm sort the tilde before the release. */
function toPackageVersion(text) {
  if (!/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?$/.test(text)) throw new Error(`${text}: not a version`);
  return text.replace('-', '~');
}

/** Returns the standard output. */
function run(program, args, env = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: ROOT,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}: ${stderr.trim()}`);
  return stdout;
}

function edit(file, from, to) {
  const before = readFileSync(file, 'utf8');
  const after = before.replace(from, () => to);
  if (after === before) throw new Error(`${file}: ${from} not found`);
  writeFileSync(file, after);
}

/** Independent of the umask of the build. Returns the bytes of all files. */
function setModesAndTimes(tree, epoch) {
  let bytes = 0;
  const files = new Set(listFiles(tree));
  // Deepest entries first, so that the times of folders stay.
  for (const name of [...readdirSync(tree, { recursive: true, encoding: 'utf8' }).reverse(), '.']) {
    const file = path.join(tree, name);
    chmodSync(file, files.has(name) && !PROGRAMS.includes(name) ? 0o644 : 0o755);
    lutimesSync(file, epoch, epoch);
    if (files.has(name)) bytes += readFileSync(file).length;
  }
  return bytes;
}

/** Sorted, e.g. `usr/bin/d2-sidecar`. */
function listFiles(tree) {
  return readdirSync(tree, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(tree, path.join(entry.parentPath, entry.name)))
    .sort();
}
