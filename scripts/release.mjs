#!/usr/bin/env node
/**
 * `npm run release -- FOLDER --node NODE [--sha256 SUM] --windows NODE.EXE [--windows-sha256 SUM] [--sign KEY] [--without PART,...]
 * [--trial]`: writes every file of the committed version into FOLDER, a new one: docs/releasing.md. The parts that PART may leave out are in
 * PARTS. NODE and NODE.EXE are the same version of Node.js, 26 or later, for Linux and Windows on x64, each with its LICENSE beside it or one
 * folder above; they go into the executables, and NODE runs all steps. KEY is a private key of ssh-keygen(1): people have ssh-keygen, on Windows
 * too, and a signature by an Ed25519 key is always the same.
 *
 * The same commit, Node.js, npm and Debian packages give the same bytes, wherever the checkout is. A release is made of the commit: in a
 * folder of its own, with the packages of package-lock.json, a fixed umask and the time of the commit. What is not committed is refused.
 *
 * A release needs both checksums, a Node.js without known vulnerabilities and its section in CHANGELOG.md. --trial makes one without them,
 * which is not to be published: its packages end in ~trial, and the last line says why.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
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
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { tarFlags } from './tar-flags.mjs';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const EXIT_USAGE = 64;
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;
const MS_PER_SECOND = 1000;
const OPTIONS = {
  node: { type: 'string' },
  sha256: { type: 'string' },
  windows: { type: 'string' },
  'windows-sha256': { type: 'string' },
  sign: { type: 'string' },
  without: { type: 'string', default: '' },
  trial: { type: 'boolean', default: false },
};

class Refusal extends Error {}

class Release {
  #env;

  constructor({ stage, folder, version, commit, notes, options, runtime }) {
    Object.assign(this, { stage, folder, notes, version });
    this.windows = options.windows && path.resolve(options.windows);
    this.trial = options.trial ? ['--trial'] : [];
    this.linux = this.named('linux-x64');
    this.exe = this.named('win-x64.exe');
    this.epoch = git('log', '-1', '--format=%ct').trim();
    this.#env = {
      ...process.env,
      // npm and its scripts run by `node`.
      PATH: `${path.dirname(runtime.node)}:${process.env.PATH}`,
      ...{ SOURCE_DATE_EPOCH: this.epoch, BUILD_COMMIT: commit, LC_ALL: 'C', TZ: 'UTC' },
    };
    // npm sets these for the script that it runs, and would find another project.
    for (const name of Object.keys(this.#env))
      if (/^(?:npm_(?!config_)|INIT_CWD$|NODE_OPTIONS$)/.test(name)) delete this.#env[name];
  }

  named(end) {
    return path.join(this.folder, `d2-sidecar-${this.version}-${end}`);
  }

  prepare() {
    const unpack = 'git -C "$0" -c tar.umask=0022 archive HEAD | tar --extract --no-same-owner';
    this.run('sh', ['-c', unpack, ROOT]);
    this.run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--silent']);
  }

  /** A script of the stage. */
  node(script, ...args) {
    this.run('node', [`scripts/${script}`, ...args]);
  }

  publish(file, end) {
    copyFileSync(path.join(this.stage, file), this.named(end));
  }

  /** Returns the standard output, as bytes. */
  run(program, args) {
    return run(program, args, { cwd: this.stage, env: this.#env });
  }
}

/** Each part with its step, in order. */
const PARTS = {
  npm: (release) => {
    // It builds dist/, too.
    release.run('npm', ['pack', '--silent', '--pack-destination', release.folder]);
    release.publish('dist/licences/sbom.cdx.json', 'sbom.cdx.json');
  },
  linux: (release) => release.node('executable.mjs', release.linux, ...release.trial),
  windows: (release) => release.node('executable.mjs', release.exe, '--for', release.windows, ...release.trial),
  zip: (release) => release.node('windows-zip.mjs', release.folder, '--executable', release.exe),
  packages: (release) => release.node('packages.mjs', release.folder, '--executable', release.linux),
  image: (release) => release.node('container.mjs', '--once', '--archive', release.named('image.tar.gz')),
  chart: packChart,
  monitoring: (release) => {
    release.publish('config/grafana/d2-sidecar.json', 'grafana.json');
    release.publish('config/grafana/fleet.json', 'grafana-fleet.json');
    release.publish('config/prometheus/rules.yml', 'prometheus-rules.yml');
    release.publish('config/prometheus/fleet.yml', 'prometheus-fleet-rules.yml');
    release.publish('config/prometheus/rules-native.yml', 'prometheus-rules-native.yml');
    release.publish('config/prometheus/fleet-native.yml', 'prometheus-fleet-rules-native.yml');
  },
  notes: (release) => writeFileSync(release.named('notes.md'), release.notes),
};

/** Part -> the one whose files it takes. */
const NEEDS = { linux: 'npm', windows: 'npm', zip: 'windows', packages: 'linux' };

try {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: OPTIONS });
  const without = values.without.split(',').filter((name) => name !== '');
  const unknown = without.find((name) => !Object.hasOwn(PARTS, name));
  if (unknown !== undefined) throw new TypeError(`--without ${unknown}: expected ${Object.keys(PARTS).join(', ')}`);
  const unmet = Object.entries(NEEDS).find(([name, needed]) => !without.includes(name) && without.includes(needed));
  if (unmet !== undefined) throw new TypeError(`--without ${unmet[1]}: ${unmet[0]} needs it`);
  if (positionals.length !== 1) throw new TypeError('expected one folder to write');
  release(path.resolve(positionals[0]), values, without);
} catch (error) {
  if (!(error instanceof Refusal || error instanceof TypeError)) throw error;
  say(error.message);
  process.exitCode = error instanceof TypeError ? EXIT_USAGE : 1;
}

function release(folder, options, without) {
  process.umask(0o022);
  const parts = Object.keys(PARTS).filter((name) => !without.includes(name));
  const runtime = checkRuntime(options, parts);
  refuseObstacles(folder, parts);
  const commit = git('rev-parse', '--short=12', 'HEAD').trim();
  const { version } = JSON.parse(git('show', 'HEAD:package.json'));
  const notes = `${readNotes(version, options.trial)}\nMade of commit ${commit} with Node.js ${runtime.version}.\n`;
  const stage = mkdtempSync(path.join(tmpdir(), 'd2s-release-'));
  mkdirSync(folder, { recursive: true });
  try {
    const made = new Release({ stage, folder, version, commit, notes, options, runtime });
    step('sources and packages', () => made.prepare());
    for (const name of parts) step(name, () => PARTS[name](made));
    step('checksums', () => sign(folder, options.sign));
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
  for (const name of readdirSync(folder).sort()) process.stdout.write(`${path.join(folder, name)}\n`);
  if (without.length > 0) say(`NOT COMPLETE: without ${without.join(', ')}`);
  if (runtime.holes !== undefined) say(`NOT FOR RELEASE: ${runtime.holes}`);
  else if (options.trial) say('NOT FOR RELEASE: --trial');
}

/** Like `helm package`, with fixed times. */
function packChart(release) {
  const place = ['--directory=config/kubernetes', '--transform=s,^chart,d2-sidecar,', 'chart'];
  const archive = release.run('tar', [...tarFlags(release.epoch), ...place]);
  writeFileSync(path.join(release.folder, `d2-sidecar-chart-${release.version}.tgz`), gzipSync(archive, { level: 9 }));
}

/** Writes SHA256SUMS, and with a key SHA256SUMS.sig. */
function sign(folder, key) {
  const sums = readdirSync(folder)
    .sort()
    .map((name) => `${hashOf(path.join(folder, name))}  ${name}\n`);
  const file = path.join(folder, 'SHA256SUMS');
  writeFileSync(file, sums.join(''));
  if (key !== undefined)
    run('ssh-keygen', ['-Y', 'sign', '-f', path.resolve(key), '-n', 'file', file], {
      stdio: ['inherit', 'pipe', 'inherit'],
    });
}

/** `{ node, version, holes }` of the Node.js for Linux; `node` is its absolute path. */
function checkRuntime({ node = process.execPath, windows, trial, ...sums }, parts) {
  const needed = { sha256: node, 'windows-sha256': windows };
  for (const [option, file] of Object.entries(needed)) {
    if (file === undefined && !parts.includes('windows')) continue;
    if (file === undefined)
      throw new TypeError('--windows: expected the node.exe of this Node.js, or --without windows,zip');
    if (!existsSync(file)) throw new Refusal(`there is no ${file}`);
    if (sums[option] === undefined && !trial) throw new Refusal(`--${option}: expected the SHA-256 of ${file}`);
    const found = hashOf(file);
    if (sums[option] !== undefined && found !== sums[option].toLowerCase())
      throw new Refusal(`${file} has the SHA-256 ${found}, expected ${sums[option]}`);
  }
  const list = pathToFileURL(path.join(ROOT, 'src/base/advisories.ts')).href;
  const ask = `const { describeHoles } = await import(${JSON.stringify(list)});
    console.log(JSON.stringify({ version: process.versions.node, holes: describeHoles(process.versions.node) }));`;
  const { version, holes } = JSON.parse(run(node, ['--input-type=module', '--eval', ask], { cwd: ROOT }));
  if (holes !== undefined && !trial) throw new Refusal(`${holes}. --trial makes a release that is not to be published`);
  return { node: path.resolve(node), version, holes };
}

function refuseObstacles(folder, parts) {
  const changed = git('status', '--porcelain').trimEnd();
  if (changed !== '') throw new Refusal(`a release is made of the commit, and these differ from it:\n${changed}`);
  if (existsSync(folder)) throw new Refusal(`${folder} exists: expected a new folder`);
  if (parts.includes('image') && process.getuid() !== 0)
    throw new Refusal('the image needs root for its mounts: run as root, or --without image');
}

/** The section of this version in CHANGELOG.md; a trial takes the first one. */
function readNotes(version, isTrial) {
  const sections = git('show', 'HEAD:CHANGELOG.md')
    .split(/^(?=## )/m)
    .slice(1);
  const own = sections.find((text) => text.startsWith(`## ${version}\n`)) ?? (isTrial ? sections[0] : undefined);
  if (own === undefined) throw new Refusal(`CHANGELOG.md: expected a section "## ${version}"`);
  return `# d2-sidecar ${version}\n${own.replace(/^.*\n/, '')}`;
}

function git(...args) {
  return run('git', args, { cwd: ROOT }).toString('utf8');
}

/** Returns the standard output, as bytes. */
function run(program, args, options) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { maxBuffer: MAX_OUTPUT_BYTES, ...options });
  if (status !== 0)
    throw new Refusal(
      `${program} ${args.join(' ')}: ${error?.message ?? `ended with ${status}: ${stdout}${stderr ?? ''}`}`,
    );
  return stdout;
}

function hashOf(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

function step(name, act) {
  const start = performance.now();
  act();
  say(`${name}: ${((performance.now() - start) / MS_PER_SECOND).toFixed(1)} s`);
}

function say(line) {
  process.stderr.write(`release: ${line}\n`);
}
