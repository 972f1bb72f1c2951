#!/usr/bin/env node
/**
 * `npm run audit [-- --accept-list]` looks up known vulnerabilities of what a release consists of: the packages of `npm run sbom`, by
 * `npm audit`; and these packages and the versions of Node.js that the Dockerfile and package.json name, in
 * package-advisories.json and src/base/advisories.ts.
 * Packages that only build or test the project are left out: they never reach a server. The Node.js that runs this is no part of a
 * release; its vulnerabilities are printed, since what it builds is not for release.
 *
 * Exit code 1 if a known vulnerability is found, or if the registry could not be asked. With --accept-list, the list is enough then.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { findTrialReason, loadAdvisories } from './runtime.mjs';

/** By name of the package, only the newest of each: a version with its fix has the earlier ones. */
const PACKAGE_LIST = new URL('package-advisories.json', import.meta.url);
const EXIT_USAGE = 64;
const MAX_REASON_CHARS = 200;
/** In each message of npm about a registry that answers no audits or cannot be reached. */
const AUDIT_PATH = '/-/npm/v1/security/';

const say = (line) => void process.stdout.write(`${line}\n`);

const [flag, ...rest] = process.argv.slice(2);
if (![undefined, '--accept-list'].includes(flag) || rest.length > 0) {
  process.stderr.write('usage: node scripts/audit.mjs [--accept-list]\n');
  process.exit(EXIT_USAGE);
}
process.exitCode = await audit(flag !== undefined);

async function audit(acceptsList) {
  const released = listReleased();
  const isListClean = await compareWithList(released);
  const answer = askRegistry(released);
  if (answer.found === undefined) {
    say(`NOT ASKED: the registry answered no audit of ${released.size} released packages: ${answer.reason}`);
    if (acceptsList && answer.isRefused)
      say('The comparison with the list decides (--accept-list). It has no vulnerability published after its date.');
    else
      say(
        'So newer vulnerabilities are not excluded. Ask another registry, or accept the list: npm run audit -- --accept-list',
      );
    return isListClean && acceptsList && answer.isRefused ? 0 : 1;
  }
  answer.found.forEach(say);
  say(`${released.size} released packages asked of the registry: ${answer.found.length} with known vulnerabilities`);
  return isListClean && answer.found.length === 0 ? 0 : 1;
}

/** Whether no released package and no named Node.js has an entry in the list. */
async function compareWithList(released) {
  const { NODE_ADVISORIES, REVIEWED, findOpen } = await loadAdvisories();
  const ofPackages = JSON.parse(readFileSync(PACKAGE_LIST, 'utf8'));
  const runtimes = listRuntimes();
  const parts = [
    ...[...released].map(([name, version]) => ({ name, version, advisories: ofPackages[name] ?? [] })),
    ...runtimes.map(({ name, version }) => ({ name, version, advisories: NODE_ADVISORIES })),
  ];
  const found = parts.flatMap(({ name, version, advisories }) =>
    findOpen(advisories, version).map(({ id, hole, source }) => `${name} ${version}: ${id}: ${hole} (${source})`),
  );
  found.forEach(say);
  const versions = [...new Set(runtimes.map(({ version }) => version))].join(', ');
  say(
    `${released.size} released packages and Node.js ${versions} compared with the list of ${REVIEWED}: ${found.length} known vulnerabilities`,
  );
  const trialReason = await findTrialReason();
  if (trialReason !== undefined) say(`Built here: ${trialReason}`);
  return found.length === 0;
}

/** The versions of Node.js that a release contains or asks for. */
function listRuntimes() {
  const [, image] = /^ARG NODE_IMAGE=node:(\d+\.\d+\.\d+)-/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
  if (image === undefined)
    throw new Error('Dockerfile: expected ARG NODE_IMAGE=node: with a version, e.g. node:26.12.1-bookworm-slim');
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8'));
  const asked = engines.node.match(/\d+\.\d+\.\d+/g) ?? [];
  if (asked.length === 0)
    throw new Error(`package.json: engines.node: got ${engines.node}, expected versions, e.g. >=26.12.1`);
  return [
    { name: 'Node.js of the Dockerfile', version: image },
    ...asked.map((version) => ({ name: 'Node.js of package.json', version })),
  ];
}

/** A line for each vulnerable package, or why nothing could be asked. */
function askRegistry(released) {
  const { stdout, stderr, error } = spawnSync('npm', ['audit', '--json'], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  const { vulnerabilities, message, error: refusal } = parseReport(stdout ?? '');
  if (typeof vulnerabilities !== 'object' || vulnerabilities === null) {
    const reason = String(message ?? refusal?.summary ?? error?.message ?? stderr ?? '').trim();
    // Any other failure of npm may come after an answer with vulnerabilities.
    const isRefused = reason.includes(AUDIT_PATH);
    return { isRefused, reason: (reason || 'npm audit printed no report').slice(0, MAX_REASON_CHARS) };
  }
  const found = Object.values(vulnerabilities).filter(({ name }) => released.has(name));
  return {
    found: found.map(({ name, severity, via }) => {
      const titles = via.map((cause) => (typeof cause === 'string' ? `by ${cause}` : `${cause.title} (${cause.url})`));
      return `${name} ${released.get(name)}: ${severity}: ${titles.join('; ')}`;
    }),
  };
}

/** The released packages: versions by name. */
function listReleased() {
  const folder = mkdtempSync(path.join(tmpdir(), 'd2-audit-'));
  try {
    const { status, stderr } = spawnSync(process.execPath, ['scripts/sbom.mjs', folder], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`cannot list the released packages: ${stderr}`);
    const { components } = JSON.parse(readFileSync(path.join(folder, 'sbom.cdx.json'), 'utf8'));
    return new Map(components.map(({ name, version }) => [name, version]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `{}` for output that is not a JSON object. */
function parseReport(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}
