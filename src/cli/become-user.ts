import { execFileSync } from 'node:child_process';

/** These exist on POSIX only, so Node's types declare them as optional. */
interface PosixProcess {
  initgroups(user: string | number, group: string | number): void;
  setgid(group: string | number): void;
  setuid(user: string | number): void;
}

/**
 * Irreversibly runs this process as the user `name` (a name or a number), with all groups of that user. `group`: the
 * main group; default: the user's own. Throws if there is no such user or group, or without the rights.
 */
export function becomeUser(name: string, group?: string): void {
  const { initgroups, setgid, setuid } = process as unknown as PosixProcess;
  const gid = group === undefined ? groupOf(name) : toId(group);
  initgroups(toId(name), gid);
  setgid(gid);
  setuid(toId(name));
}

/** `id` finds users wherever the machine keeps them. */
function groupOf(name: string): number {
  return Number(execFileSync('id', ['-g', '--', name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
}

/** Node takes a number for an id, and a text for a name. */
function toId(text: string): string | number {
  return /^\d+$/.test(text) ? Number(text) : text;
}
