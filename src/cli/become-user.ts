import { execFileSync } from 'node:child_process';

/** POSIX only, so that Node's types say less of them than there is. */
interface PosixProcess {
  initgroups(user: string | number, group: string | number): void;
  setgid(group: string | number): void;
  setuid(user: string | number): void;
}

/**
 * Makes this process one of the user `name` (a name or a number) with all groups of that user, for good. `group` is the main one;
 * default: the user's. Throws if there is no such user or group, or this process may not do so.
 */
export function becomeUser(name: string, group?: string): void {
  const { initgroups, setgid, setuid } = process as unknown as PosixProcess;
  const gid = group === undefined ? groupOf(name) : toId(group);
  initgroups(toId(name), gid);
  setgid(gid);
  setuid(toId(name));
}

/** `id` asks wherever the machine keeps its users. */
function groupOf(name: string): number {
  return Number(execFileSync('id', ['-g', '--', name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
}

/** Node takes a number for an id, and a text for a name. */
function toId(text: string): string | number {
  return /^\d+$/.test(text) ? Number(text) : text;
}
