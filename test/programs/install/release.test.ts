/** `npm run release` in two clones: the same bytes from other folders, umasks and zones. Its image is compared by scripts/container.mjs. */
import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { installBothRuntimes, runtimeIn, windowsRuntimeIn } from '../../support/install/executable.ts';
import { copyProject } from '../../support/install/project-copy.ts';
import { ROOT, run, succeed } from '../../support/install/run.ts';
import { hasProgram, isAvailable } from '../../support/programs.ts';

/** Each release installs npm's packages and compresses 800 MB, on a busy machine. */
const SLOW_MS = 600_000;
const PROGRAMS = ['git', 'dpkg-deb', 'rpmbuild', 'ssh-keygen', 'x86_64-w64-mingw32-gcc'];
const canRun = isAvailable('a release', PROGRAMS.every(hasProgram));

const folder = temporaryFolder(deferTo(afterAll));
const first = path.join(folder, 'first');
const second = path.join(folder, 'a longer/path with blanks/second');
const key = path.join(folder, 'key');
const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { version: string };

/** The working tree as a commit, in two clones. */
async function makeClones(): Promise<void> {
  const source = path.join(folder, 'source');
  await copyProject(source);
  rmSync(path.join(source, 'node_modules'), { recursive: true });
  const identity = ['-c', 'user.name=Ann', '-c', 'user.email=ann@plant.example'];
  await succeed('git', ['init', '--quiet'], source);
  await succeed('git', ['add', '.'], source);
  await succeed('git', [...identity, 'commit', '--quiet', '--message', 'all'], source);
  mkdirSync(path.dirname(second), { recursive: true });
  await succeed('git', ['clone', '--quiet', source, first], folder);
  await succeed('bash', ['-c', `umask 077; git clone --quiet '${source}' '${second}'`], folder);
}

const runtimes = () => ['--node', runtimeIn(folder), '--windows', windowsRuntimeIn(folder)];
const release = (clone: string, ...words: readonly string[]) =>
  run(process.execPath, ['scripts/release.mjs', 'build/release', ...runtimes(), ...words], { cwd: clone });

describe.skipIf(!canRun)('a release', { timeout: SLOW_MS }, () => {
  beforeAll(async () => {
    await Promise.all([makeClones(), installBothRuntimes(folder)]);
    await succeed('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'ann', '-f', key], folder);
  }, SLOW_MS);

  it.each<[string, readonly string[], RegExp]>([
    ['a part without what it needs', ['--without', 'linux'], /^release: --without linux: packages needs it$/m],
    ['a missing checksum', ['--without', 'image'], /^release: --sha256: expected the SHA-256 of /],
    [
      'another checksum',
      ['--trial', '--sha256', '0'.repeat(64)],
      /^release: .* has the SHA-256 [0-9a-f]{64}, expected 0/,
    ],
  ])('is refused with %s', async (_what, words, message) => {
    expect((await release(first, ...words)).stderr).toMatch(message);
  });

  it('is refused with changes that are not committed, and with a Node.js that has known vulnerabilities', async () => {
    const file = path.join(first, 'README.md');
    appendFileSync(file, 'changed\n');
    const changed = await release(first, '--trial', '--without', 'image');
    expect([changed.code, changed.stderr]).toEqual([1, expect.stringContaining('differ from it:\n M README.md')]);
    await succeed('git', ['checkout', '--quiet', 'README.md'], first);
    const sumOf = async (file: string) => (await succeed('sha256sum', [file])).stdout.slice(0, 64);
    const sums = [
      '--sha256',
      await sumOf(runtimeIn(folder)),
      '--windows-sha256',
      await sumOf(windowsRuntimeIn(folder)),
    ];
    const { code, stderr } = await release(first, ...sums, '--without', 'image');
    const isSafe = (await run(runtimeIn(folder), ['scripts/runtime.mjs', 'yes'])).code === 0;
    expect([code, stderr]).toEqual([1, expect.stringContaining(isSafe ? '## ' : 'has known vulnerabilities')]);
  });

  it('has the same bytes in two clones, with a signature of its checksums', async () => {
    const words = ['--trial', '--without', 'image', '--sign', key];
    const told = expect.stringMatching(/NOT COMPLETE: without image\n.*NOT FOR RELEASE/);
    expect(await release(first, ...words)).toMatchObject({ code: 0, stderr: told });
    const place = path.join(folder, 'out');
    renameSync(path.join(first, 'build/release'), place);
    const line = `umask 077; TZ=Asia/Tokyo exec '${process.execPath}' scripts/release.mjs build/release ${[...runtimes(), ...words].join(' ')}`;
    const again = await run('bash', ['-c', line], { cwd: second });
    expect(again.code, again.stderr).toBe(0);
    const read = (from: string, name: string) => readFileSync(path.join(from, name), 'utf8');
    for (const name of ['SHA256SUMS', 'SHA256SUMS.sig'])
      expect(read(path.join(second, 'build/release'), name)).toBe(read(place, name));
    const names = read(place, 'SHA256SUMS').match(/\S+$/gm);
    const rules = ['rules', 'rules-native', 'fleet-rules', 'fleet-rules-native'].map(
      (name) => `prometheus-${name}.yml`,
    );
    const ends = 'grafana.json grafana-fleet.json linux-x64 notes.md sbom.cdx.json win-x64.exe windows-x64.zip'
      .split(' ')
      .concat(rules);
    expect(names).toEqual(expect.arrayContaining(ends.map((end) => `d2-sidecar-${version}-${end}`)));
    expect(names).toEqual(expect.arrayContaining([`d2-sidecar-${version}.tgz`, `d2-sidecar-chart-${version}.tgz`]));
    await succeed('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], place);
    const signers = `release ${readFileSync(`${key}.pub`, 'utf8')}`;
    const verify = `ssh-keygen -Y verify -f <(echo '${signers}') -I release -n file -s SHA256SUMS.sig < SHA256SUMS`;
    expect((await succeed('bash', ['-c', verify], place)).stdout).toContain('Good "file" signature');
    expect(read(place, `d2-sidecar-${version}-notes.md`)).toMatch(
      /^# d2-sidecar \d.*\n\n[\s\S]+\nMade of commit [0-9a-f]{12} with Node\.js 26/,
    );
    const { stdout: chart } = await succeed('tar', ['-tzf', `d2-sidecar-chart-${version}.tgz`], place);
    expect(chart.split('\n')).toEqual(expect.arrayContaining(['d2-sidecar/Chart.yaml', 'd2-sidecar/values.yaml']));
    expect(names?.filter((name) => /_amd64\.deb$|\.x86_64\.rpm$/.test(name))).toHaveLength(2);
    // Without the signature of node.exe, which has become invalid: its entry in the header of the program is empty.
    const exe = readFileSync(path.join(place, `d2-sidecar-${version}-win-x64.exe`));
    expect(exe.readBigUInt64LE(exe.readUInt32LE(0x3c) + 168)).toBe(0n);
  });
});
