import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from './run.ts';

interface Manifest {
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** npm takes its time, and there are several of it. */
const SLOW_MS = 120_000;
const NPM = ['--no-audit', '--no-fund', '--no-update-notifier', '--ignore-scripts'];

let folder: string;
let manifest: Manifest;
let packed: readonly string[];
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'd2s-npm-'));
  // dist/ is there: `npm test` has built it.
  const { code, stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder, ...NPM]);
  expect(code).toBe(0);
  const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
  packed = files.map((file) => file.path);
  expect((await run('tar', ['-xzf', filename], { cwd: folder })).code).toBe(0);
  const file = path.join(folder, 'package/package.json');
  manifest = JSON.parse(readFileSync(file, 'utf8')) as Manifest;
  // All of them are in dist/: without them there is nothing that could be fetched, and nothing that could be found by chance.
  const { dependencies: _, ...alone } = manifest;
  writeFileSync(file, JSON.stringify(alone));
  const user = path.join(folder, 'user');
  mkdirSync(user);
  writeFileSync(path.join(user, 'package.json'), '{}');
  const installed = await run('npm', ['install', '--offline', '--install-links', ...NPM, '../package'], { cwd: user });
  expect(installed).toMatchObject({ code: 0 });
}, SLOW_MS);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the npm package', () => {
  const npx = (...args: readonly string[]) => ['--offline', '--no-install', 'd2-sidecar', ...args];

  it('holds what it runs with, and neither sources nor tests', () => {
    expect(packed).toEqual(expect.arrayContaining(['dist/main.js', 'config/sidecar.yaml', 'LICENSE', 'README.md']));
    expect(packed.filter((file) => /^(?:src|test|node_modules|\.ci)\//.test(file))).toEqual([]);
  });

  it('needs no other package', () => {
    const modules = readdirSync(path.join(folder, 'user/node_modules')).filter((name) => !name.startsWith('.'));
    expect(modules).toEqual(['d2-sidecar']);
  });

  it('tells its version by npx', { timeout: SLOW_MS }, async () => {
    const { code, stdout } = await run('npx', npx('--version'), { cwd: path.join(folder, 'user') });
    expect(code).toBe(0);
    expect(stdout.split(' ')[0]).toBe(manifest.version);
  });

  it('starts by npx, and its own command tells that it is ready and stops it', { timeout: SLOW_MS }, async () => {
    const user = path.join(folder, 'user');
    const env = { ...process.env, TMPDIR: user, D2_SIDECAR_STOP_DELAY: '0', D2_SIDECAR_STOP_WINDOW: '0' };
    const args = npx(
      '--upstream',
      'http://127.0.0.1:1/smartWeb',
      '--listen',
      '127.0.0.1:0',
      '--monitor',
      '127.0.0.1:0',
    );
    const child = spawn('npx', args, { cwd: user, env, stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(child, 'exit');
    const lines = createInterface({ input: child.stdout });
    let pid = 0;
    try {
      while (pid === 0) {
        const [line] = (await once(lines, 'line')) as [string];
        // npx passes no signal on when it is killed itself, so this one is kept for the end.
        ({ pid } = JSON.parse(line) as { pid: number });
        if (!line.includes('"listening"')) pid = 0;
      }
      const own = { cwd: user, env: { TMPDIR: user } };
      expect((await run('npx', npx('health', '--ready'), own)).stdout).toMatch(/^d2-sidecar \d+ is ready: serving\n$/);
      expect((await run('npx', npx('shutdown'), own)).code).toBe(0);
      expect((await ended)[0]).toBe(0);
    } finally {
      child.kill('SIGKILL');
      if (pid !== 0 && child.exitCode === null) process.kill(pid, 'SIGKILL');
    }
  });
});
