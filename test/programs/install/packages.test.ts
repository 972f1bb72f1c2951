/** The .deb and the .rpm of scripts/packages.mjs: what is in them, and their life on a machine. */
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
// @ts-expect-error: JavaScript without types
import { compareTrees, listTree } from '../../../scripts/container/tree.mjs';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { makeExecutable } from '../../support/install/executable.ts';
import { copyProject } from '../../support/install/project-copy.ts';
import { ROOT, run, succeed } from '../../support/install/run.ts';
import { hasProgram, isAvailable } from '../../support/programs.ts';

const UNIT = path.join(ROOT, 'config/systemd/d2-sidecar.service');
/** Compressing, and dpkg, on a busy machine. */
const SLOW_MS = 600_000;
const FORMATS = ['deb', 'rpm'] as const;
const canAnalyze = hasProgram('systemd-analyze');
const canBuild = ['dpkg-deb', 'rpmbuild', 'rpm2cpio', 'cpio'].every(hasProgram);
const canInstall = canBuild && process.getuid?.() === 0 && ['unshare', 'debootstrap'].every(hasProgram);
isAvailable('dpkg, rpm and systemd, as root', canInstall && canAnalyze);

const folder = temporaryFolder(deferTo(afterAll));
const copy = path.join(folder, 'copy');
/** Answers like the executable, of the Node.js of the tests; packages of it are made in no time. */
const standIn = path.join(folder, 'stand-in');
beforeAll(async () => {
  if (!canBuild) return;
  await copyProject(copy);
  await succeed('npm', ['run', 'build', '--silent'], copy);
  await succeed(process.execPath, ['scripts/sbom.mjs', 'dist/licences'], copy);
  writeFileSync(standIn, `#!/bin/sh\nexec '${process.execPath}' '${copy}/dist/main.js' "$@"\n`, { mode: 0o755 });
}, SLOW_MS);

const toWords = (name: string, version: string, executable = standIn) => [
  ...['scripts/packages.mjs', path.join(folder, name), '--executable', executable, '--version', version],
];

/** Paths of both packages. */
async function make(name: string, version: string, executable = standIn): Promise<readonly string[]> {
  const { stdout } = await succeed(process.execPath, toWords(name, version, executable), copy);
  return stdout.trim().split('\n');
}

const linesOf = async (program: string, ...args: readonly string[]) =>
  (await succeed(program, args, folder)).stdout.trim().split('\n');
const unzip = (file: string) => gunzipSync(readFileSync(file)).toString('utf8');

/** A new Debian with what its administrators have and these packages need, from where this machine has its own. */
async function bootstrap(): Promise<string> {
  const base = path.join(folder, 'base');
  const packages = 'adduser,curl,libatomic1,libstdc++6,rpm,systemd';
  const line = `. /etc/os-release
    site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' "Codename: $VERSION_CODENAME" | head -1)
    debootstrap --variant=minbase --include=${packages} "$VERSION_CODENAME" '${base}' "$site"`;
  await succeed('bash', ['-c', line], folder);
  return base;
}

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

  it('does not restart with an invalid configuration, and allows the access log where docs/access-log.md has it', () => {
    const unit = readFileSync(UNIT, 'utf8');
    expect(unit).toMatch(/^RestartPreventExitStatus=64$/m);
    const [, name = ''] = /^LogsDirectory=(.+)$/m.exec(unit) ?? [];
    const guide = readFileSync(path.join(ROOT, 'docs/access-log.md'), 'utf8');
    const files = [...guide.matchAll(/\/var\/log\/[\w/.-]+\.log/g)].map(([file]) => path.dirname(file));
    expect(new Set(files)).toEqual(new Set([`/var/log/${name}`]));
  });
});

describe.skipIf(!canBuild)('the packages', { timeout: SLOW_MS }, () => {
  const [fromDeb, fromRpm] = FORMATS.map((format) => path.join(folder, `unpacked-${format}`)) as [string, string];
  let deb = '';
  let rpm = '';
  beforeAll(async () => {
    [deb = '', rpm = ''] = await make('one', '0.0.1-rc.1');
    mkdirSync(fromRpm);
    await succeed('dpkg-deb', ['--extract', deb, fromDeb], folder);
    const unpack = `rpm2cpio '${rpm}' | cpio --extract --make-directories --preserve-modification-time --quiet`;
    await succeed('bash', ['-o', 'pipefail', '-c', unpack], fromRpm);
  }, SLOW_MS);

  it('have the same files, units, configuration and scripts', async () => {
    const listOf = (root: string) => listTree(root).filter(({ kind }: { kind: string }) => kind !== 'folder');
    expect(compareTrees(listOf(fromDeb), listOf(fromRpm))).toEqual([]);
    const names = listOf(fromDeb).map((entry: { path: string }) => entry.path);
    expect(names).toEqual(expect.arrayContaining(['/usr/bin/d2-sidecar', '/usr/lib/systemd/system/d2-sidecar.socket']));
    const configuration = ['/etc/d2-sidecar/sidecar.yaml'];
    expect(await linesOf('dpkg-deb', '--info', deb, 'conffiles')).toEqual(configuration);
    expect(await linesOf('rpm', '--query', '--configfiles', '--package', rpm)).toEqual(configuration);
    const functions = readFileSync(path.join(ROOT, 'config/packages/lifecycle.sh'), 'utf8').trim();
    for (const name of ['postinst', 'prerm', 'postrm'])
      expect((await linesOf('dpkg-deb', '--info', deb, name)).join('\n')).toContain(functions);
    const scripts = (await linesOf('rpm', '--query', '--scripts', '--package', rpm)).join('\n');
    expect(scripts.split(functions)).toHaveLength(4);
  });

  it.each<[string, readonly string[], Readonly<Record<string, string>>, number, RegExp]>([
    ['a malformed version', ['--version', 'v1'], {}, 1, /^packages: v1: not a version\n$/],
    ['an address that injects a field', [], { DEBEMAIL: 'a@b.example>\nEssential: yes' }, 1, /DEBEMAIL: expected no </],
  ])('are not made of %s', async (_what, words, env, code, message) => {
    const args = ['scripts/packages.mjs', folder, '--executable', standIn, ...words];
    const ran = await run(process.execPath, args, { cwd: copy, env });
    expect(ran).toEqual({ code, stdout: '', stderr: expect.stringMatching(message) });
  });

  it('hold licences, changes and a manual, and no file that others can write', async () => {
    const documents = path.join(fromDeb, 'usr/share/doc/d2-sidecar');
    const textOf = (file: string) => readFileSync(path.join(documents, file), 'utf8');
    expect(textOf('copyright')).toContain(readFileSync(path.join(copy, 'LICENSE'), 'utf8'));
    expect(textOf('copyright')).toMatch(/^fastify [\d.]+: MIT$/m);
    expect(textOf('licences.txt')).toMatch(/^fastify [\d.]+\n\n[\s\S]*?Permission is hereby granted/m);
    expect(JSON.parse(textOf('sbom.cdx.json'))).toHaveProperty('bomFormat', 'CycloneDX');
    expect(textOf('CHANGELOG.md')).toBe(readFileSync(path.join(copy, 'CHANGELOG.md'), 'utf8'));
    const manual = unzip(path.join(fromDeb, 'usr/share/man/man1/d2-sidecar.1.gz'));
    expect(manual).toContain('\n.SH EXIT CODES\n');
    expect(manual).toContain('\\-\\-upstream URL');
    const entries = await linesOf('dpkg-deb', '--contents', deb);
    expect(entries.filter((line) => !/^[-d]rw[-x]r-[-x]r-[-x] root\/root /.test(line))).toEqual([]);
  });

  it.skipIf(!canInstall)(
    'are installed on a new Debian without Node.js, started by the unit, upgraded, removed and purged',
    async () => {
      const [base, executable] = await Promise.all([bootstrap(), makeExecutable(folder, copy)]);
      const older = await make('older', '0.0.1-rc.1', executable);
      // So that an upgrade has to choose between the new file and the edited one.
      appendFileSync(path.join(copy, 'config/sidecar.yaml'), '# new in this version\n');
      const newer = await make('newer', '0.0.1', executable);
      const requires = await linesOf('rpm', '--query', '--requires', '--package', older[1] ?? '');
      const libraries = requires.map((line) => /^(?:lib|ld)([\w.+-]+\.so)\.\d/.exec(line)?.[1]).filter(Boolean);
      const needed = '-linux-x86-64.so atomic.so c.so dl.so gcc_s.so m.so pthread.so stdc++.so'.split(' ');
      expect([...new Set(libraries)].sort()).toEqual(needed);
      expect(requires.filter((line) => /nodejs/.test(line))).toEqual([]);
      for (const [i, format] of FORMATS.entries()) {
        const place = path.join(folder, `machine-${format}`);
        mkdirSync(place);
        const namespaces = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
        const script = path.join(import.meta.dirname, 'packages.sh');
        const words = [script, format, older[i] ?? '', newer[i] ?? '', place, base];
        const { code, stdout, stderr } = await run('unshare', [...namespaces, 'bash', ...words]);
        expect([code, stderr]).toEqual([0, '']);
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
      }
    },
  );
});
