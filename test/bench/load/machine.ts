import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ROOT_FOLDER } from './folders.ts';
import { findFile } from './peers/peer.ts';
import type { Machine } from './report.ts';

/** Programs, and the argument for which each prints its version. */
const PROGRAMS = { nginx: '-v', haproxy: '-v', caddy: 'version', wrk: '-v' };

export function describeMachine(peerCore: number | undefined): Machine {
  return [
    ['date', new Date().toISOString().slice(0, 10)],
    ['processor', `${os.cpus()[0]?.model ?? 'unknown'}, ${os.cpus().length} cores`],
    ['memory', `${Math.round(os.totalmem() / 2 ** 30)} GB`],
    ['kernel', `${os.type()} ${os.release()}`],
    ['pinned', peerCore === undefined ? 'no' : `peers to core ${peerCore}, the rest elsewhere`],
    ['Node.js', process.version],
    ...['http-proxy', 'undici'].map((name) => [name, packageVersion(name)] as const),
    ...Object.entries(PROGRAMS).flatMap(([name, argument]) => programVersion(name, argument)),
  ];
}

/** The version that a program prints, e.g. `1.22.1`; nginx prints it on standard error, and wrk exits with an error. */
function programVersion(name: string, argument: string): (readonly [string, string])[] {
  const file = findFile(name);
  if (file === undefined) return [];
  const { stdout, stderr } = spawnSync(file, [argument], { encoding: 'utf8', timeout: 5_000 });
  return [[name, /\d+\.\d+[\w.+-]*/.exec(`${stdout}${stderr}`)?.[0] ?? 'unknown']];
}

function packageVersion(name: string): string {
  const text = readFileSync(path.join(ROOT_FOLDER, 'node_modules', name, 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Moves this process and its children off the first core, and returns that; undefined if there is only one, or no `taskset`. */
export function takeCores(): number | undefined {
  const status = readFileSync('/proc/self/status', 'latin1');
  const [peerCore, ...others] = parseCores(/^Cpus_allowed_list:\s+(.+)$/m.exec(status)?.[1] ?? '');
  if (peerCore === undefined || others.length === 0 || findFile('taskset') === undefined) return undefined;
  const moved = spawnSync('taskset', ['-acp', others.join(','), String(process.pid)]);
  return moved.status === 0 ? peerCore : undefined;
}

/** Numbers of a list in the kernel's format: `0-2,5` gives 0, 1, 2, 5. */
function parseCores(list: string): number[] {
  return list
    .split(',')
    .filter((part) => part !== '')
    .flatMap((part) => {
      const [first = Number.NaN, last = first] = part.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, i) => first + i);
    });
}
