#!/usr/bin/env node
/**
 * `node scripts/windows-zip.mjs FOLDER --executable FILE [--version VERSION]`: writes FOLDER/d2-sidecar-<version>-windows-x64.zip with FILE,
 * which `scripts/executable.mjs --for node.exe` has made, the program that Windows starts as the service, and scripts that install both.
 * VERSION replaces the version of package.json. The same files give the same zip: all times are SOURCE_DATE_EPOCH.
 *
 * It compiles config/windows/service.c with Debian's `gcc-mingw-w64-x86-64-win32`.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { zipSync } from 'fflate';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const EXIT_USAGE = 64;
const COMPILER = 'x86_64-w64-mingw32-gcc-win32';
/** Without the time of the build in the program. */
const COMPILER_FLAGS = [
  '-municode',
  '-Os',
  '-s',
  '-static',
  '-Wall',
  '-Wextra',
  '-Werror',
  '-Wl,--no-insert-timestamp',
];
/** Name in the zip -> path in the project. Windows' own editors and cmd.exe want CRLF. */
const TEXTS = {
  'install.cmd': 'config/windows/install.cmd',
  'uninstall.cmd': 'config/windows/uninstall.cmd',
  'README.txt': 'config/windows/README.txt',
  'LICENSE.txt': 'LICENSE',
  'sidecar.yaml': 'config/windows/sidecar.yaml',
  'schema.json': 'config/schema.json',
};
/** The time that npm uses in its packages. */
const DEFAULT_EPOCH = '499162500';
const MS_PER_SECOND = 1000;
/** Host system in the zip: MS-DOS, so that no mode is expected. */
const MSDOS = 0;

class Refusal extends Error {}

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { executable: { type: 'string' }, version: { type: 'string' } },
  });
  if (positionals.length !== 1 || values.executable === undefined)
    throw new TypeError('expected a folder to write to, and --executable FILE');
  process.stdout.write(`${make(path.resolve(positionals[0]), values)}\n`);
} catch (error) {
  if (!(error instanceof Refusal || error instanceof TypeError || error.code === 'ENOENT')) throw error;
  process.stderr.write(`windows-zip: ${error.message}\n`);
  process.exitCode = error instanceof TypeError ? EXIT_USAGE : 1;
}

function make(target, { executable, version = JSON.parse(read('package.json')).version }) {
  const program = readFileSync(executable);
  if (program.toString('latin1', 0, 2) !== 'MZ')
    throw new Refusal(`${executable} is no program for Windows: scripts/executable.mjs makes one with --for node.exe`);
  const folder = mkdtempSync(path.join(tmpdir(), 'd2s-windows-'));
  try {
    const files = {
      'd2-sidecar.exe': program,
      'd2-sidecar-service.exe': compile(path.join(folder, 'service.exe')),
      ...Object.fromEntries(Object.entries(TEXTS).map(([name, file]) => [name, toCrlf(read(file))])),
    };
    const top = `d2-sidecar-${version}`;
    const entries = Object.keys(files)
      .sort()
      .map((name) => [`${top}/${name}`, [files[name], { mtime: toLocalTime(), os: MSDOS }]]);
    const file = path.join(target, `${top}-windows-x64.zip`);
    mkdirSync(target, { recursive: true });
    writeFileSync(file, zipSync(Object.fromEntries(entries), { level: 6 }));
    return file;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function read(file) {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

function toCrlf(text) {
  return Buffer.from(text.replaceAll(/\r?\n/g, '\r\n'));
}

/** A zip has the local time without its zone. */
function toLocalTime() {
  const time = new Date(Number(process.env.SOURCE_DATE_EPOCH || DEFAULT_EPOCH) * MS_PER_SECOND);
  return new Date(time.toISOString().replace('Z', ''));
}

function compile(file) {
  const words = [...COMPILER_FLAGS, '-o', file, 'config/windows/service.c'];
  const { status, stderr, error } = spawnSync(COMPILER, words, { encoding: 'utf8', cwd: ROOT });
  if (status !== 0)
    throw new Refusal(`${COMPILER}, of Debian's gcc-mingw-w64-x86-64-win32: ${error?.message ?? stderr.trim()}`);
  return readFileSync(file);
}
