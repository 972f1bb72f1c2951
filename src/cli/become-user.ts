import { execFileSync } from 'node:child_process';

/** These exist on POSIX only, so Node's types declare them as optional. */
interface PosixProcess {
  initgroups(user: string | number, group: string | number): void;
  setgid(group: string | number): void;
  setuid(user: string | number): void;
}

/**
 * Irreversibly switches this process to the user `name` (a name or a number) and all groups of that user. `group`: the
 * main group; default: the user's own. Throws if user or group do not exist, or if this process may not switch.
 */
export function becomeUser(name: string, group?: string): void {
  const { initgroups, setgid, setuid } = process as unknown as PosixProcess;
  const gid = group === undefined ? groupOf(name) : parseId(group);
  initgroups(parseId(name), gid);
  setgid(gid);
  setuid(parseId(name));
}

/** Asks `id`, which also knows users who are not in /etc/passwd, e.g. those of LDAP. */
function groupOf(name: string): number {
  return Number(execFileSync('id', ['-g', '--', name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
}

/** Node reads a number as an id, and a string as a name. */
function parseId(text: string): string | number {
  return /^\d+$/.test(text) ? Number(text) : text;
}
