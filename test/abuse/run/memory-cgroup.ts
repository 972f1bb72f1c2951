/** A memory cgroup like that of a Pod: cgroup v2 (`memory.max`) or v1 (`memory.limit_in_bytes`). */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Command } from '../../bench/load/processes.ts';

/** Undefined where the machine does not allow it: no root, no memory controller, read-only cgroups. */
export function createMemoryCgroup(limitBytes: number) {
  for (const parent of findParents()) {
    const folder = path.join(parent, `d2-abuse-${process.pid}`);
    try {
      mkdirSync(folder);
    } catch {
      continue;
    }
    try {
      limit(folder, limitBytes);
    } catch {
      rmdirSync(folder);
      continue;
    }
    return {
      within: ({ file, args, ...rest }: Command): Command => {
        const enter = 'echo $$ > "$0" && exec "$@"';
        return { file: '/bin/sh', args: ['-c', enter, path.join(folder, 'cgroup.procs'), file, ...args], ...rest };
      },
      remove: () => rmdirSync(folder),
    };
  }
  return undefined;
}

function limit(folder: string, bytes: number): void {
  const isV2 = existsSync(path.join(folder, 'memory.max'));
  // Without O_CREAT: a file that the kernel has not made means a missing controller.
  const write = (file: string, value: string) => writeFileSync(path.join(folder, file), value, { flag: 'r+' });
  write(isV2 ? 'memory.max' : 'memory.limit_in_bytes', `${bytes}`);
  const swap = isV2 ? 'memory.swap.max' : 'memory.memsw.limit_in_bytes';
  if (existsSync(path.join(folder, swap))) write(swap, isV2 ? '0' : `${bytes}`);
}

/** Candidate parents of the cgroup: below our own, so that limits of the container hold, or at the top. */
function findParents(): string[] {
  if (!existsSync('/proc/self/cgroup')) return [];
  // As in proc(5) and cgroups(7).
  const linesOf = (of: string) => readFileSync(`/proc/self/${of}`, 'latin1').split('\n');
  const groups = linesOf('cgroup').map((line) => line.split(':'));
  const own = (controller: string) =>
    groups.find(([, controllers = '']) => controllers.split(',').includes(controller))?.[2] ?? '/';
  return linesOf('mountinfo').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const mountPoint = before.split(' ')[4] ?? '';
    const [type, , options = ''] = after.split(' ');
    const isV1 = type === 'cgroup' && options.split(',').includes('memory');
    if (!isV1 && type !== 'cgroup2') return [];
    return [path.join(mountPoint, own(isV1 ? 'memory' : '')), mountPoint];
  });
}
