/** The npm package as its user gets it: packed from a copy of the sources, installed far from the project's node_modules. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Defer, temporaryFolder } from '../../support/deferred.ts';
import { copyProject } from '../../support/install/project-copy.ts';
import { plainEnv, type Ran, run, succeed } from '../../support/install/run.ts';
import { exitOf, type LogLine, listeningLine, stopProcess } from '../../support/sidecar-process.ts';

const NPM = ['--no-audit', '--no-fund', '--no-update-notifier'];

/** `npx d2-sidecar` or the linked program. */
type By = 'link' | 'npx';

export class InstalledPackage {
  readonly folder: string;
  readonly user: string;
  readonly place: string;
  files: readonly string[] = [];
  packedFrom = '';
  readonly #defer: Defer;

  constructor(defer: Defer) {
    this.#defer = defer;
    this.folder = realpathSync(temporaryFolder(defer));
    this.user = path.join(this.folder, 'user');
    this.place = path.join(this.user, 'node_modules/d2-sidecar');
  }

  async install(): Promise<void> {
    const copy = path.join(this.folder, 'copy');
    await copyProject(copy);
    // No --json: the output of prepack would be mixed in.
    await succeed('npm', ['pack', '--pack-destination', this.folder, ...NPM], copy);
    this.packedFrom = readFileSync(path.join(copy, 'package.json'), 'utf8');
    rmSync(copy, { recursive: true, force: true });
    const [archive = ''] = readdirSync(this.folder).filter((name) => name.endsWith('.tgz'));
    const listed = await succeed('tar', ['-tzf', archive], this.folder);
    this.files = listed.stdout.match(/(?<=^package\/).+/gm) ?? [];
    mkdirSync(this.user);
    writeFileSync(path.join(this.user, 'package.json'), '{}');
    // Offline, with an empty cache: the archive has everything that it needs.
    const cache = path.join(this.folder, 'npm-cache');
    await succeed('npm', ['install', '--offline', '--cache', cache, ...NPM, `../${archive}`], this.user);
  }

  read(file: string): string {
    return readFileSync(path.join(this.place, file), 'utf8');
  }

  run(args: readonly string[], by: By = 'link'): Promise<Ran> {
    const [program, words] = this.#words(by, args);
    return run(program, words, { cwd: this.user, env: { TMPDIR: this.user } });
  }

  /** Resolves once it listens. */
  async start(args: readonly string[], by: By = 'link') {
    const [program, words] = this.#words(by, args);
    const own = { TMPDIR: this.user, D2_SIDECAR_STOP_DELAY: '0', D2_SIDECAR_STOP_WINDOW: '0' };
    const options = { cwd: this.user, env: { ...plainEnv(), ...own } };
    const child: ChildProcess = spawn(program, words, { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = exitOf(child);
    this.#defer(() => stopProcess(child, ended, 'SIGKILL'));
    const logs: LogLine[] = [];
    const { listen, monitor } = await listeningLine(child, logs, ended);
    return { logs, ended, listen: String(listen), monitor: String(monitor) };
  }

  #words(by: By, args: readonly string[]): [string, readonly string[]] {
    if (by === 'npx') return ['npx', ['--offline', '--no-install', 'd2-sidecar', ...args]];
    return [path.join(this.user, 'node_modules/.bin/d2-sidecar'), args];
  }
}
