#!/usr/bin/env node
/**
 * `node scripts/executable.mjs FILE [--node NODE [--sha256 SUM]] [--for NODE.EXE] [--trial]`, after `npm run build`: writes FILE, the program
 * as one executable with Node.js inside, for the system of that Node.js. NODE (26 or later; otherwise the one that runs this) makes it.
 * --for names the Node.js of another system that goes inside, of the same version; SUM is the SHA-256 of the one that goes inside. The same
 * files give the same executable.
 *
 * Its Node.js must have no known vulnerabilities; --trial accepts one with some, and the last line says that nothing is for release.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { rolldown } from 'rolldown';
import { oneFile } from '../rolldown.config.js';
import { loadAdvisories } from './runtime.mjs';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const EXIT_USAGE = 64;
const BYTES_PER_MB = 1_000_000;
/** The first version that makes executables by itself and whose main file may be an ES module. */
const OLDEST = 26;
/**
 * The memory reducer takes calls that create no garbage for an idle process. V8 would start four helper threads, which compete with the event
 * loop on a single processor, and its young heap would take 11 MB more. SIGUSR1 never opens Node's debugger, not even before the program is
 * loaded. NODE_OPTIONS adds to them.
 */
const FLAGS = ['--no-memory-reducer', '--v8-pool-size=1', '--max-semi-space-size=8', '--disable-sigusr1'];
/** Offsets in a program for 64-bit Windows: of the place of its header, and in this of the entry of its signature. */
const PE_HEADER_AT = 0x3c;
const PE_CERTIFICATES = 24 + 112 + 4 * 8;
const PROGRAM_FILES = ['package.json', 'config/sidecar.yaml', 'config/schema.json'];
const CONFIGURATION = 'executable.json';
const LICENCES = 'dist/licences/licences.txt';

class Refusal extends Error {}

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      node: { type: 'string', default: process.execPath },
      for: { type: 'string' },
      sha256: { type: 'string' },
      trial: { type: 'boolean', default: false },
    },
  });
  if (positionals.length !== 1) throw new TypeError('expected one file to write');
  await make(path.resolve(positionals[0]), values);
} catch (error) {
  if (!(error instanceof Refusal || error instanceof TypeError || error.code === 'ENOENT')) throw error;
  process.stderr.write(`executable: ${error.message}\n`);
  process.exitCode = error instanceof TypeError ? EXIT_USAGE : 1;
}

async function make(file, { node, for: inside = node, sha256, trial }) {
  const runtime = realpathSync(node);
  const version = run(runtime, ['--version'], 'Node.js').trim().slice(1);
  if (Number.parseInt(version, 10) < OLDEST)
    throw new Refusal(`${node} is Node.js ${version}, expected ${OLDEST} or later: --node names another one`);
  const { describeHoles } = await loadAdvisories();
  const holes = describeHoles(version);
  if (holes !== undefined && !trial) throw new Refusal(`${holes}. --trial makes one that is not for release`);
  if (sha256 !== undefined) checkSum(inside, sha256);
  // Each Node.js names its own source.
  if (!readFileSync(inside).includes(`/v${version}/node-v${version}`))
    throw new Refusal(`${inside} is not Node.js ${version}, as ${node} is`);
  const folder = mkdtempSync(path.join(tmpdir(), 'd2s-executable-'));
  try {
    // The executable holds this path, so it is relative: two builds would differ otherwise.
    const main = 'main.mjs';
    await bundle(path.join(folder, main));
    writeFileSync(
      path.join(folder, CONFIGURATION),
      JSON.stringify({
        main,
        mainFormat: 'module',
        executable: removeSignature(realpathSync(inside), folder),
        output: file,
        disableExperimentalSEAWarning: true,
        // Two builds with a code cache would differ.
        useCodeCache: false,
        execArgv: FLAGS,
        assets: { ...listFiles(), [LICENCES]: writeLicences(folder, [inside, runtime], version) },
      }),
    );
    run(runtime, ['--build-sea', CONFIGURATION], `making ${file}`, folder);
    chmodSync(file, 0o755);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(`${file}: ${(statSync(file).size / BYTES_PER_MB).toFixed(0)} MB, Node.js ${version}\n`);
  if (holes !== undefined) process.stderr.write(`executable: NOT FOR RELEASE: ${holes}\n`);
}

function run(program, words, what, cwd = ROOT) {
  const { status, stdout, stderr, error } = spawnSync(program, words, { encoding: 'utf8', cwd });
  if (status !== 0) throw new Refusal(`${what}: ${program} ${words.join(' ')}: ${error?.message ?? stderr.trim()}`);
  return stdout;
}

/**
 * Returns the path of the same program without its Authenticode signature. The program inside would make it invalid, which Windows and
 * scanners distrust more than none. Its place: Microsoft's PE format, "Attribute Certificate Table".
 */
function removeSignature(file, folder) {
  const bytes = readFileSync(file);
  if (bytes.toString('latin1', 0, 2) !== 'MZ') return file;
  const entry = bytes.readUInt32LE(PE_HEADER_AT) + PE_CERTIFICATES;
  const [start, length] = [bytes.readUInt32LE(entry), bytes.readUInt32LE(entry + 4)];
  if (start === 0) return file;
  if (start + length !== bytes.length) throw new Refusal(`${file}: expected its signature at the end`);
  bytes.fill(0, entry, entry + 8);
  const unsigned = path.join(folder, 'unsigned.exe');
  writeFileSync(unsigned, bytes.subarray(0, start));
  return unsigned;
}

function checkSum(file, expected) {
  const found = createHash('sha256').update(readFileSync(file)).digest('hex');
  if (found !== expected.toLowerCase()) throw new Refusal(`${file} has the SHA-256 ${found}, expected ${expected}`);
}

async function bundle(file) {
  const { output, ...input } = oneFile;
  const made = await rolldown({ ...input, cwd: ROOT });
  try {
    await made.write({ ...output, file });
  } finally {
    await made.close();
  }
}

/** Name in the program (src/base/program-files.ts) -> path. */
function listFiles() {
  const page = path.join(ROOT, 'dist/page');
  const names = [...PROGRAM_FILES, ...readdirSync(page).map((name) => `dist/page/${name}`)].sort();
  return Object.fromEntries(names.map((name) => [name, path.join(ROOT, name)]));
}

/** Those of the packages and of Node.js, whose text is beside one of these programs or its `bin`. */
function writeLicences(folder, programs, version) {
  run(process.execPath, [path.join(ROOT, 'scripts/sbom.mjs'), folder], 'the list of licences');
  const file = path.join(folder, 'licences.txt');
  const folders = programs.map((program) => path.dirname(realpathSync(program)));
  const [text] = folders
    .flatMap((place) => [place, path.dirname(place)])
    .flatMap((place) => {
      const candidate = path.join(place, 'LICENSE');
      return statSync(candidate, { throwIfNoEntry: false })?.isFile() ? [readFileSync(candidate, 'utf8')] : [];
    });
  if (text === undefined)
    throw new Refusal(`${programs[0]}: expected the LICENSE of Node.js in its folder or the one above`);
  writeFileSync(file, `${readFileSync(file, 'utf8')}\n${'='.repeat(80)}\nNode.js ${version}\n\n${text}`);
  return file;
}
