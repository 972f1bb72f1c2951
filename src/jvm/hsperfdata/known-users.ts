/**
 * Maps user ids to names. A counters file is in `hsperfdata_<name>`, and any user of the machine may create more such
 * folders than a search visits. So the folders of the JVM's possible users are opened by name, before all others.
 */
import { userInfo } from 'node:os';
import { readSmall } from './processes.ts';

interface KnownUsersOptions {
  readonly procPath: string;
  /** `jvm.user`: a name, or a number. */
  readonly user?: string | undefined;
}

/**
 * `jvm.user` first, then the names of `uids` in our passwd file and in that of the process `pid`, whose container may
 * have its own: e.g. `['tomcat']`. Our own name comes from the system, which may use a directory service.
 */
export function findKnownUsers(
  { procPath, user }: KnownUsersOptions,
  uids: ReadonlySet<number>,
  pid?: number,
): string[] {
  const names = new Set<string>();
  if (user !== undefined) names.add(user);
  const own = ownUser();
  if (own !== undefined && uids.has(own.uid)) names.add(own.username);
  for (const process of pid === undefined ? ['self'] : ['self', pid]) {
    for (const name of namesIn(`${procPath}/${process}/root/etc/passwd`, uids)) names.add(name);
  }
  return [...names].filter((name) => FOLDER_PART.test(name)).slice(0, MAX_USERS);
}

function namesIn(passwdPath: string, uids: ReadonlySet<number>): string[] {
  const entries = (readSmall(passwdPath) ?? '').split('\n').map((line) => line.split(':', 3));
  return entries.filter(([, , uid = '']) => /^\d+$/.test(uid) && uids.has(Number(uid))).map(([name = '']) => name);
}

/** Undefined for a user id without a name. */
function ownUser(): { readonly uid: number; readonly username: string } | undefined {
  try {
    return userInfo();
  } catch {
    return undefined;
  }
}

/** Several names for one user id are rare, but a container's passwd file may contain anything. */
const MAX_USERS = 16;
const FOLDER_PART = /^[^/\0]{1,255}$/;
