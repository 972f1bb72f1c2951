/** A memory cgroup like that of a Pod: cgroup v2 (`memory.max`) or v1 (`memory.limit_in_bytes`). */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Command } from '../../bench/load/processes.ts';

export class MemoryCgroup {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Undefined where the machine does not allow it: no root, no memory controller, read-only cgroups. */
  static create(limitBytes: number): MemoryCgroup | undefined {
    for (const parent of findParents()) {
      const cgroup = new MemoryCgroup(path.join(parent, `d2-abuse-${process.pid}`));
      try {
        mkdirSync(cgroup.#folder);
      } catch {
        continue;
      }
      try {
        cgroup.#limit(limitBytes);
        return cgroup;
      } catch {
        cgroup.remove();
      }
    }
    return undefined;
  }

  within({ file, args, ...rest }: Command): Command {
    const enter = 'echo $$ > "$0" && exec "$@"';
    return { file: '/bin/sh', args: ['-c', enter, path.join(this.#folder, 'cgroup.procs'), file, ...args], ...rest };
  }

  remove(): void {
    try {
      rmdirSync(this.#folder);
    } catch (cause) {
      process.stderr.write(`abuse: ${this.#folder} is left behind: ${(cause as Error).message}\n`);
    }
  }

  #limit(bytes: number): void {
    const isV2 = existsSync(path.join(this.#folder, 'memory.max'));
    const [limit, withSwap] = isV2
      ? ['memory.max', 'memory.swap.max']
      : ['memory.limit_in_bytes', 'memory.memsw.limit_in_bytes'];
    // Without O_CREAT: a file that the kernel has not made means a missing controller.
    writeFileSync(path.join(this.#folder, limit), `${bytes}`, { flag: 'r+' });
    const swap = path.join(this.#folder, withSwap);
    if (existsSync(swap)) writeFileSync(swap, isV2 ? '0' : `${bytes}`, { flag: 'r+' });
  }
}

/** Candidate parents of the cgroup: below our own, so that limits of the container hold, or at the top. */
function findParents(): string[] {
  if (!existsSync('/proc/self/cgroup')) return [];
  // As in proc(5) and cgroups(7).
  const [mounts = '', memberships = ''] = ['mountinfo', 'cgroup'].map((of) =>
    readFileSync(`/proc/self/${of}`, 'latin1'),
  );
  const groups = memberships.split('\n').map((line) => line.split(':'));
  const own = (controller: string) =>
    groups.find(([, controllers = '']) => controllers.split(',').includes(controller))?.[2] ?? '/';
  return mounts.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const mountPoint = before.split(' ')[4] ?? '';
    const [type, , options = ''] = after.split(' ');
    const isV1 = type === 'cgroup' && options.split(',').includes('memory');
    if (!isV1 && type !== 'cgroup2') return [];
    const membership = own(isV1 ? 'memory' : '');
    return membership === '/' ? [mountPoint] : [path.join(mountPoint, membership), mountPoint];
  });
}
