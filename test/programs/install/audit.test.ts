/** `npm run audit` against registries that answer, refuse, lie or are away, and with a list that has an entry. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { copyProject } from '../../support/install/project-copy.ts';
import { run } from '../../support/install/run.ts';
import { startApplication, toUnusedPort } from '../../support/net.ts';

/** Each run bundles the program to list its packages, on a busy machine. */
const SLOW_MS = 300_000;

const folder = temporaryFolder(deferTo(afterAll));
const copy = path.join(folder, 'copy');
beforeAll(() => copyProject(copy), SLOW_MS);

/** An advisory for every version of these packages, as the registry answers them. */
const advisoriesFor = (...names: string[]) =>
  JSON.stringify(Object.fromEntries(names.map((name) => [name, [{ ...ADVISORY, title: `hole of ${name}` }]])));
const ADVISORY = {
  ...{ id: 1, url: 'https://advisory.example/1', severity: 'high', vulnerable_versions: '*', cwe: [] },
  cvss: { score: 9, vectorString: null },
};

/** A registry that answers each request for advisories so; its address. It knows each package in version 1.0.0. */
async function startRegistry(status: number, body = '', type = 'application/json') {
  const { port, close } = await startApplication((request, response) => {
    const name = decodeURIComponent(request.url?.slice(1) ?? '');
    const known = { name, 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': { name, version: '1.0.0' } } };
    if (request.method === 'POST') response.writeHead(status, { 'content-type': type }).end(body);
    else response.end(JSON.stringify(known));
  });
  onTestFinished(close);
  return `http://127.0.0.1:${port}/`;
}

function audit(registry: string, ...flags: string[]) {
  const cache = { npm_config_cache: path.join(folder, 'npm') };
  const env = { npm_config_registry: registry, npm_config_fetch_retries: '0', ...cache };
  return run(process.execPath, ['scripts/audit.mjs', ...flags], { cwd: copy, env });
}

function edit(file: string, from: RegExp, to: string): void {
  const target = path.join(copy, file);
  const text = readFileSync(target, 'utf8');
  expect(text).toMatch(from);
  writeFileSync(target, text.replace(from, to));
  onTestFinished(() => writeFileSync(target, text));
}

const CLEAN =
  /^\d+ released packages and Node\.js \d.* compared with the list of \d{4}-\d{2}-\d{2}: 0 known vulnerabilities$/m;

describe('npm run audit', { timeout: SLOW_MS }, () => {
  it('succeeds if neither registry nor list knows a vulnerability of a released package', async () => {
    const { code, stdout } = await audit(await startRegistry(200, advisoriesFor('vitest')));
    expect(stdout).toMatch(CLEAN);
    expect(stdout).toMatch(/^\d+ released packages asked of the registry: 0 with known vulnerabilities$/m);
    expect(stdout).not.toContain('NOT ASKED');
    expect(code).toBe(0);
  });

  it('fails for a vulnerable package of a release, also if the list may decide', async () => {
    const registry = await startRegistry(200, advisoriesFor('fastify', 'undici'));
    const { code, stdout } = await audit(registry, '--accept-list');
    expect(stdout).toMatch(/^fastify \d.*: high: hole of fastify \(https:\/\/advisory\.example\/1\)$/m);
    expect(stdout).toMatch(/^undici \d.*: high: hole of undici/m);
    expect(code).toBe(1);
  });

  it.each<[string, () => Promise<string>, RegExp]>([
    ['answers 405', () => startRegistry(405), /405 Method Not Allowed/],
    ['answers a page', () => startRegistry(200, '<html>', 'text/html'), /./],
    ['cannot be reached', async () => `http://127.0.0.1:${await toUnusedPort()}/`, /ECONNREFUSED/],
  ])('fails with a registry that %s, and says that nothing was asked', async (_what, start, reason) => {
    const { code, stdout } = await audit(await start());
    expect(stdout).toMatch(CLEAN);
    expect(stdout).toMatch(/^NOT ASKED: the registry answered no audit of \d+ released packages: .+$/m);
    expect(stdout).toMatch(reason);
    expect(stdout).toMatch(/^So newer vulnerabilities are not excluded\./m);
    expect(code).toBe(1);
  });

  it('says with --accept-list that nothing was asked, and succeeds by the list', async () => {
    const { code, stdout } = await audit(await startRegistry(405), '--accept-list');
    expect(stdout).toMatch(/^NOT ASKED: /m);
    expect(stdout).toMatch(CLEAN);
    expect(code).toBe(0);
  });

  it('fails for a package and for versions of Node.js that the list has', async () => {
    edit('scripts/package-advisories.json', /"5\.8\.5"/, '"99.0.0"');
    edit('Dockerfile', /node:\d+\.\d+\.\d+-/, 'node:26.10.0-');
    edit('package.json', /"node": ".*"/, '"node": ">=20.19.0"');
    const { code, stdout } = await audit(await startRegistry(405), '--accept-list');
    expect(stdout).toMatch(/^fastify \d\S+: CVE-2026-33806: .+ \(https:.+\)$/m);
    expect(stdout).toContain('Node.js of the Dockerfile 26.10.0: CVE-2026-111497: ');
    expect(stdout).toContain('Node.js of package.json 20.19.0: CVE-2026-111497: ');
    expect(code).toBe(1);
  });
});
