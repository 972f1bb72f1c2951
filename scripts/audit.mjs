#!/usr/bin/env node
/**
 * `npm run audit` looks up known vulnerabilities of the released packages (those of `npm run sbom`) by `npm audit`. Packages that only
 * build or test the project are left out: they never reach a server.
 *
 * Exit code 1 if a released package has a known vulnerability. 0 if none has, or if the registry answers no audits, with a message.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';

process.exitCode = await audit();

function audit() {
  const released = listReleased();
  const { stdout } = spawnSync('npm', ['audit', '--json'], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  const { vulnerabilities } = toReport(stdout);
  if (vulnerabilities === undefined) {
    process.stdout.write(`${released.size} released packages not looked up: the registry answers no audits\n`);
    return 0;
  }
  const found = Object.values(vulnerabilities).filter(({ name }) => released.has(name));
  for (const { name, severity, via } of found) {
    const titles = via.map((cause) => (typeof cause === 'string' ? `by ${cause}` : `${cause.title} (${cause.url})`));
    process.stdout.write(`${name} ${released.get(name)}: ${severity}: ${titles.join('; ')}\n`);
  }
  process.stdout.write(`${released.size} released packages looked up, ${found.length} with known vulnerabilities\n`);
  return found.length === 0 ? 0 : 1;
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

/** `{}` for output that is not JSON. */
function toReport(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
