import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ROOT_FOLDER } from './folders.ts';
import { findFile } from './peers/peer.ts';

/** Programs, and the argument for which each prints its version: nginx on standard error, and wrk with an error. */
const PROGRAMS = { nginx: '-v', haproxy: '-v', caddy: 'version', wrk: '-v' };

export function describeMachine(peerCore: number | undefined): string {
  const pinned = peerCore === undefined ? 'not pinned' : `peers on core ${peerCore}, the rest elsewhere`;
  const packages = ['http-proxy', 'undici'].map((name) => {
    const text = readFileSync(path.join(ROOT_FOLDER, 'node_modules', name, 'package.json'), 'utf8');
    return `${name} ${(JSON.parse(text) as { version: string }).version}`;
  });
  const programs = Object.entries(PROGRAMS).flatMap(([name, argument]) => {
    const { stdout, stderr } = spawnSync(findFile(name) ?? name, [argument], { encoding: 'utf8', timeout: 5_000 });
    return `${name} ${/\d+\.\d+[\w.+-]*/.exec(`${stdout}${stderr}`)?.[0] ?? 'is missing'}`;
  });
  return [
    ...[new Date().toISOString().slice(0, 10), `${os.cpus().length} cores ${os.cpus()[0]?.model}`, pinned],
    ...[`${Math.round(os.totalmem() / 2 ** 30)} GB`, `${os.type()} ${os.release()}`],
    ...[`Node.js ${process.version}`, ...packages, ...programs],
  ].join(', ');
}

/** Moves this process and its children off the first core, and returns that; undefined if there is only one, or no `taskset`. */
export function takeCores(): number | undefined {
  const list = /^Cpus_allowed_list:\s+(.+)$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1] ?? '';
  // In the kernel's format: `0-2,5` is 0, 1, 2, 5.
  const [peerCore, ...others] = list.split(',').flatMap((part) => {
    const [first = 0, last = first] = part.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
  if (peerCore === undefined || others.length === 0) return undefined;
  const moved = spawnSync('taskset', ['-acp', others.join(','), String(process.pid)]);
  return moved.status === 0 ? peerCore : undefined;
}
