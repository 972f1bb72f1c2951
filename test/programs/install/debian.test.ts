import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { copyProject, succeed } from '../../support/install/project-copy.ts';
import { ROOT, run } from '../../support/install/run.ts';
import { isAvailable } from '../../support/programs.ts';

const UNIT = path.join(ROOT, 'config/systemd/d2-sidecar.service');
/** Compressing, and dpkg, on a busy machine. */
const SLOW_MS = 300_000;
const has = (program: string) => spawnSync(program, ['--version']).error === undefined;
const canBuild = has('dpkg-deb');
const canAnalyze = has('systemd-analyze');
const canInstall = canBuild && process.getuid?.() === 0 && has('unshare') && has('systemd-notify');
isAvailable('dpkg and systemd, as root', canInstall && canAnalyze);

const folder = temporaryFolder(deferTo(afterAll));
const copy = path.join(folder, 'copy');
beforeAll(async () => {
  if (!canBuild) return;
  await copyProject(copy);
  await succeed('npm', ['run', 'build', '--silent'], copy);
}, SLOW_MS);

async function make(name: string, version: string): Promise<string> {
  const { stdout } = await succeed(process.execPath, ['scripts/deb.mjs', path.join(folder, name), version], copy);
  return stdout.trim();
}

const unzip = (file: string) => gunzipSync(readFileSync(file)).toString('utf8');

describe('the systemd unit', () => {
  it.skipIf(!canAnalyze)('has the documented exposure, below 2.5 by systemd-analyze', async () => {
    const guide = readFileSync(path.join(ROOT, 'docs/install.md'), 'utf8');
    const [, documented, release] = /rates its exposure (\d\.\d) of 10 \(systemd (\d+)/.exec(guide) ?? [];
    const { stdout: version } = await run('systemd-analyze', ['--version']);
    const options = ['security', '--offline=true', '--threshold=25', '--no-pager'];
    const { code, stdout } = await run('systemd-analyze', [...options, UNIT]);
    const [, exposure] = /Overall exposure level for d2-sidecar\.service: ([\d.]+)/.exec(stdout) ?? [];
    // Other versions rate differently.
    const isDocumented = version.startsWith(`systemd ${release} `);
    expect([release, exposure]).toEqual([expect.any(String), isDocumented ? documented : expect.any(String)]);
    expect(code).toBe(0);
  });

  it('does not restart with an invalid configuration', () => {
    expect(readFileSync(UNIT, 'utf8')).toMatch(/^RestartPreventExitStatus=64$/m);
  });

  it('allows writing the access log where docs/access-log.md has it', () => {
    const [, name = ''] = /^LogsDirectory=(.+)$/m.exec(readFileSync(UNIT, 'utf8')) ?? [];
    const guide = readFileSync(path.join(ROOT, 'docs/access-log.md'), 'utf8');
    const files = [...guide.matchAll(/\/var\/log\/[\w/.-]+\.log/g)].map(([file]) => path.dirname(file));
    expect(new Set(files)).toEqual(new Set([`/var/log/${name}`]));
  });
});

describe.skipIf(!canBuild)('the Debian package', { timeout: SLOW_MS }, () => {
  let packed: string;
  beforeAll(async () => {
    packed = await make('one', '0.0.1-rc.1');
  }, SLOW_MS);

  it('is reproducible to the byte', async () => {
    expect(readFileSync(await make('other', '0.0.1-rc.1')).equals(readFileSync(packed))).toBe(true);
  });

  it('depends on a Node.js without known vulnerabilities; built by another one, it is for trials and says so', async () => {
    const field = async (file: string, name: string) => (await run('dpkg-deb', ['--field', file, name])).stdout.trim();
    const built = async (isTrial: boolean) => {
      const list = path.join(copy, 'src/base/advisories.ts');
      const text = readFileSync(list, 'utf8');
      // As if this Node.js had, or had not, the fix.
      const own = process.versions.node;
      const fixedIn = isTrial ? "'99.2.3'" : `'${own}', '99.2.3'`;
      writeFileSync(list, text.replaceAll(/fixedIn: \['2\d\..*\]/g, `fixedIn: [${fixedIn}]`));
      const name = isTrial ? 'trial' : 'release';
      const ran = await run(process.execPath, ['scripts/deb.mjs', path.join(folder, name), '0.0.3'], { cwd: copy });
      writeFileSync(list, text);
      const file = ran.stdout.trim();
      return { told: ran.stderr, version: await field(file, 'Version'), depends: await field(file, 'Depends') };
    };
    const [major = 0] = process.versions.node.split('.').map(Number);
    expect(await built(false)).toEqual({
      ...{ told: '', version: '0.0.3' },
      depends: `nodejs (>= ${process.versions.node}), nodejs (<< ${major + 1}) | nodejs (>= 99.2.3), adduser`,
    });
    expect(await built(true)).toEqual({
      told: expect.stringMatching(/^deb: NOT FOR RELEASE: Node\.js \d.* has known vulnerabilities: CVE-/),
      ...{ version: '0.0.3~trial', depends: 'nodejs, adduser' },
    });
  });

  it('refuses a malformed version', async () => {
    const { code, stderr } = await run(process.execPath, ['scripts/deb.mjs', folder, 'v1'], { cwd: copy });
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'deb: v1: not a version\n' });
  });

  it('names the given maintainer, and refuses an address that could inject another field', async () => {
    const by = (email: string) =>
      run(process.execPath, ['scripts/deb.mjs', path.join(folder, 'named'), '0.0.2'], {
        cwd: copy,
        env: { DEBFULLNAME: 'The Plant', DEBEMAIL: email },
      });
    const { stdout } = await by('it@plant.example');
    const { stdout: maintainer } = await run('dpkg-deb', ['--field', stdout.trim(), 'Maintainer']);
    expect(maintainer).toBe('The Plant <it@plant.example>\n');
    expect(await by('it@plant.example>\nEssential: yes')).toMatchObject({ code: 1, stdout: '' });
  });

  it('holds licences, changes and a manual, and no file that others can write', async () => {
    const place = path.join(folder, 'unpacked');
    await succeed('dpkg-deb', ['--extract', packed, place], folder);
    const documents = path.join(place, 'usr/share/doc/d2-sidecar');
    const textOf = (file: string) => readFileSync(path.join(documents, file), 'utf8');
    expect(textOf('copyright')).toContain(readFileSync(path.join(copy, 'LICENSE'), 'utf8'));
    for (const name of ['fastify', 'preact']) {
      expect(textOf('copyright')).toMatch(new RegExp(`^${name} [\\d.]+: MIT$`, 'm'));
      expect(textOf('licences.txt')).toMatch(new RegExp(`^${name} [\\d.]+\n\n[^]*?Permission is hereby granted`, 'm'));
    }
    expect(JSON.parse(textOf('sbom.cdx.json'))).toHaveProperty('bomFormat', 'CycloneDX');
    expect(textOf('NEWS')).toBe(readFileSync(path.join(copy, 'CHANGELOG.md'), 'utf8'));
    const changes = unzip(path.join(documents, 'changelog.gz'));
    expect(changes).toMatch(/^d2-sidecar \(0\.0\.1~rc\.1(?:~trial)?\) unstable; urgency=medium\n/);
    for (const name of ['sample', 'schema', 'licences'])
      await succeed(process.execPath, [path.join(place, 'usr/lib/d2-sidecar/dist/main.js'), 'print', name], folder);
    const manual = unzip(path.join(place, 'usr/share/man/man1/d2-sidecar.1.gz'));
    expect(manual).toContain('\n.SH EXIT CODES\n');
    expect(manual).toContain('\\-\\-upstream URL');
    const listed = await succeed('dpkg-deb', ['--contents', packed], folder);
    const entries = listed.stdout.trim().split('\n');
    expect(entries.filter((line) => !/^(?:[-d]rw[-x]r-[-x]r-[-x]|lrwxrwxrwx) root\/root /.test(line))).toEqual([]);
  });

  it.skipIf(!canInstall)('is installed, started by its unit, upgraded, removed and purged', async () => {
    // So that an upgrade has to choose between the new file and the edited one.
    appendFileSync(path.join(copy, 'config/sidecar.yaml'), '# new in this version\n');
    const packages = [packed, await make('newer', '0.0.1')];
    const place = path.join(folder, 'machine');
    mkdirSync(place);
    const namespaces = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
    const script = path.join(import.meta.dirname, 'debian.sh');
    const { code, stdout, stderr } = await run('unshare', [...namespaces, 'bash', script, ...packages, place]);
    expect(stderr).toBe('');
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^ok: installed \d+\.\d+\.\d+ \(build /),
      'ok: the units are valid',
      'ok: the unit starts, tells READY and WATCHDOG, reloads, tells STOPPING, and ends with 0',
      'ok: a token that root makes is read by the service, and the documented access log is written',
      'ok: a token that the service cannot read is told by check, and does not keep it from serving',
      expect.stringMatching(
        /^ok: upgraded to 0\.0\.1(?:~trial)?, with the configuration as it was and the new one beside it$/,
      ),
      'ok: removed, with configuration, state and user left',
      'ok: purged, with nothing left',
      '',
    ]);
    expect(code).toBe(0);
  });
});
