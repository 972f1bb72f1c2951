import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT, run } from './run.ts';

const UNIT = path.join(ROOT, 'config/systemd/d2-sidecar.service');
/** Compressing, and dpkg, on a machine that others keep busy. */
const SLOW_MS = 180_000;
const isRequired = process.env.D2S_REQUIRE_DEB !== undefined;
const has = (program: string) => spawnSync(program, ['--version']).error === undefined;
const canBuild = isRequired || has('dpkg-deb');
const canInstall = isRequired || (canBuild && process.getuid?.() === 0 && has('unshare') && has('systemd-notify'));
const canAnalyze = isRequired || has('systemd-analyze');

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'd2s-debian-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function make(name: string, ...version: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(process.execPath, ['.ci/deb.mjs', path.join(folder, name), ...version]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout.trim();
}

describe('the unit', () => {
  it.skipIf(!canAnalyze)('is exposed less than 2.5 by the measure of systemd-analyze', async () => {
    const options = ['security', '--offline=true', '--threshold=25', '--no-pager'];
    const { code, stdout } = await run('systemd-analyze', [...options, UNIT]);
    expect(stdout).toMatch(/Overall exposure level for d2-sidecar\.service: [\d.]+/);
    expect(code).toBe(0);
  });

  it('tries a configuration again that cannot be used neither by a restart nor by a crash', () => {
    expect(readFileSync(UNIT, 'utf8')).toMatch(/^RestartPreventExitStatus=64$/m);
  });
});

describe('the Debian package', () => {
  it.skipIf(!canBuild)('is the same to the byte when it is made again', { timeout: SLOW_MS }, async () => {
    const [one, other] = [await make('one'), await make('other')];
    expect(readFileSync(one).equals(readFileSync(other))).toBe(true);
  });

  it.skipIf(!canBuild)('refuses a version that is none', async () => {
    const { code, stderr } = await run(process.execPath, ['.ci/deb.mjs', folder, 'v1']);
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'deb: v1: not a version\n' });
  });

  it.skipIf(!canInstall)(
    'is installed, started by its unit, upgraded, removed and purged',
    { timeout: SLOW_MS },
    async () => {
      const packages = [await make('older', '0.0.1-rc.1'), await make('newer', '0.0.1')];
      const place = path.join(folder, 'machine');
      mkdirSync(place);
      const namespaces = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
      const script = path.join(import.meta.dirname, 'debian.sh');
      const { code, stdout, stderr } = await run('unshare', [...namespaces, 'bash', script, ...packages, place]);
      expect(stderr).toBe('');
      expect(stdout.split('\n')).toEqual([
        expect.stringMatching(/^ok: installed \d+\.\d+\.\d+ \(build /),
        'ok: the unit is valid',
        'ok: the unit starts, tells READY and WATCHDOG, reloads, tells STOPPING, and ends with 0',
        'ok: upgraded to 0.0.1, with the configuration as it was',
        'ok: removed, with the configuration left',
        'ok: purged, with nothing left',
        '',
      ]);
      expect(code).toBe(0);
    },
  );
});
