/**
 * The npm package as its user gets it: packed by `npm pack` from a copy of the sources, so that the project's dist/ is not rebuilt during
 * other tests, and installed into an empty folder far from the project's node_modules.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { copyProject, succeed } from '../../support/install/project-copy.ts';
import { plainEnv, type Ran, run } from '../../support/install/run.ts';

const NPM = ['--no-audit', '--no-fund', '--no-update-notifier'];

/** A part of package.json. */
export interface Manifest {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

export interface StartedSidecar {
  readonly child: ChildProcess;
  /** All lines of its log so far. */
  readonly logs: readonly Readonly<Record<string, unknown>>[];
  /** Addresses, `host:port`. */
  readonly listen: string;
  readonly monitor: string;
  /** Its exit code. */
  readonly ended: Promise<number | null>;
}

export class InstalledPackage {
  /** The folder of this test; its files may be put there. */
  readonly folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'd2s-npm-')));
  /** The folder with node_modules. */
  readonly user = path.join(this.folder, 'user');
  readonly place = path.join(this.user, 'node_modules/d2-sidecar');
  /** Paths of the files in the package, e.g. `dist/main.js`. */
  files: readonly string[] = [];
  /** The project's files when it was packed, without its tests. */
  sources: ReadonlySet<string> = new Set();
  /** The project's package.json after it was packed. */
  packedFrom = '';
  readonly #children: ChildProcess[] = [];

  async install(): Promise<void> {
    const copy = path.join(this.folder, 'copy');
    await copyProject(copy);
    // No --json: the output of prepack would be mixed in.
    await succeed('npm', ['pack', '--pack-destination', this.folder, ...NPM], copy);
    this.packedFrom = readFileSync(path.join(copy, 'package.json'), 'utf8');
    rmSync(path.join(copy, 'node_modules'), { recursive: true, force: true });
    this.sources = new Set(readdirSync(copy, { recursive: true, encoding: 'utf8' }));
    rmSync(copy, { recursive: true, force: true });
    const [archive = ''] = readdirSync(this.folder).filter((name) => name.endsWith('.tgz'));
    const listed = await succeed('tar', ['-tzf', archive], this.folder);
    this.files = listed.stdout
      .trim()
      .split('\n')
      .map((name) => name.replace(/^package\//, ''));
    mkdirSync(this.user);
    writeFileSync(path.join(this.user, 'package.json'), '{}');
    // Offline, with an empty cache: the archive has everything that it needs.
    const cache = path.join(this.folder, 'npm-cache');
    await succeed('npm', ['install', '--offline', '--cache', cache, ...NPM, `../${archive}`], this.user);
  }

  get manifest(): Manifest {
    return JSON.parse(readFileSync(path.join(this.place, 'package.json'), 'utf8')) as Manifest;
  }

  /** Runs a command of it to its end, through `npx d2-sidecar` or the linked program. */
  run(args: readonly string[], { by = 'link', env = {} }: RunOptions = {}): Promise<Ran> {
    const [program, words] = this.#words(by, args);
    return run(program, words, { cwd: this.user, env: { TMPDIR: this.user, ...env } });
  }

  /** Resolves once it listens; rejects with its log if it ends first. */
  async start(args: readonly string[], { by = 'link', env = {} }: RunOptions = {}): Promise<StartedSidecar> {
    const [program, words] = this.#words(by, args);
    const own = { TMPDIR: this.user, D2_SIDECAR_STOP_DELAY: '0', D2_SIDECAR_STOP_WINDOW: '0', ...env };
    const child = spawn(program, words, {
      cwd: this.user,
      env: { ...plainEnv(), ...own },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#children.push(child);
    const ended = once(child, 'exit').then(([code]) => code as number | null);
    const logs: Readonly<Record<string, unknown>>[] = [];
    const listening = await new Promise<Readonly<Record<string, unknown>>>((resolve, reject) => {
      ended.then((code) => reject(new Error(`it ended with ${code}: ${JSON.stringify(logs)}`)), reject);
      // Read to the end: a full pipe would stop it.
      createInterface({ input: child.stdout }).on('line', (text) => {
        const line = JSON.parse(text) as Readonly<Record<string, unknown>>;
        logs.push(line);
        if (line.msg === 'listening') resolve(line);
      });
    });
    return { child, logs, ended, listen: String(listening.listen), monitor: String(listening.monitor) };
  }

  /** Runs a command until it has printed `pattern`, and ends it by SIGTERM. */
  async runUntil(args: readonly string[], pattern: RegExp, env: Readonly<Record<string, string>>): Promise<Ran> {
    const [program, words] = this.#words('link', args);
    const options = { cwd: this.user, env: { ...plainEnv(), TMPDIR: this.user, ...env } };
    const child = spawn(program, words, { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
    this.#children.push(child);
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const isSeen = pattern.test(stdout);
      stdout += text;
      // Once: the second signal ends it at once.
      if (!isSeen && pattern.test(stdout)) child.kill('SIGTERM');
    });
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, stdout, stderr: '' };
  }

  /** Ends running programs, and removes everything. */
  async dispose(): Promise<void> {
    for (const child of this.#children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  #words(by: 'link' | 'npx', args: readonly string[]): [string, readonly string[]] {
    if (by === 'npx') return ['npx', ['--offline', '--no-install', 'd2-sidecar', ...args]];
    return [path.join(this.user, 'node_modules/.bin/d2-sidecar'), args];
  }
}

interface RunOptions {
  readonly by?: 'link' | 'npx';
  readonly env?: Readonly<Record<string, string>>;
}
