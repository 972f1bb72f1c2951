/** What has to be known of a process before it is sent a signal that ends most programs. */
import { readSmall } from '../hsperfdata/processes.ts';

export interface ProcessState {
  readonly nspid: number;
  /** Effective ids. */
  readonly uid: number;
  readonly gid: number;
  /** `R`, `S`, `D`, `T` stopped, `t` traced, `Z` ended, `X` dead. */
  readonly state: string;
  /** Whether SIGQUIT has a handler. Without one it kills: a JVM with -Xrs, or one in the first moments of its start. */
  readonly catchesQuit: boolean;
  /** With the pid, names a process for ever. */
  readonly startTicks: number;
}

/** SIGQUIT is signal 3, so bit 2. */
const QUIT_BIT = 0x4n;
const START_TIME_FIELD = 22;
/** Lists of mappings of large JVMs have a few hundred KiB. */
const MAX_MAPS_BYTES = 16 * 1_048_576;

/** `undefined` if it is gone, not visible, or told in a way that is not understood. */
export function readProcessState(procPath: string, pid: number): ProcessState | undefined {
  const status = readSmall(`${procPath}/${pid}/status`);
  const stat = readSmall(`${procPath}/${pid}/stat`);
  if (status === undefined || stat === undefined) return undefined;
  const words = (name: string) => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1]?.trim().split(/\s+/) ?? [];
  const [, uid] = words('Uid').map(Number);
  const [, gid] = words('Gid').map(Number);
  // Kernels before 4.1 have no NSpid; they also have no way to tell that the numbers differ.
  const nspid = Number(words('NSpid').at(-1));
  const caught = words('SigCgt')[0] ?? '';
  const [state] = words('State');
  // The program's name, field 2, may hold blanks and parentheses.
  const startTicks = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[START_TIME_FIELD - 3]);
  if (uid === undefined || gid === undefined || state === undefined || !/^[0-9a-f]{1,32}$/.test(caught))
    return undefined;
  if (![nspid, uid, gid, startTicks].every(Number.isSafeInteger)) return undefined;
  return { nspid, uid, gid, state, catchesQuit: (BigInt(`0x${caught}`) & QUIT_BIT) !== 0n, startTicks };
}

/**
 * Whether the process runs HotSpot: a server with another use for SIGQUIT, such as nginx, could have taken over the pid. Where
 * its mappings are closed to us, its name has to do.
 */
export function isJvm(procPath: string, pid: number): boolean {
  const maps = readSmall(`${procPath}/${pid}/maps`, MAX_MAPS_BYTES);
  // Deleted: the JDK has been updated below the running JVM.
  if (maps !== undefined && maps !== '') return /\/libjvm\.so(?: \(deleted\))?$/m.test(maps);
  return /^(?:java|jsvc)/.test(readSmall(`${procPath}/${pid}/comm`) ?? '');
}

/**
 * Whether the command line says that the JVM has no attach socket; it can also be said elsewhere, e.g. in JAVA_TOOL_OPTIONS.
 * A command line may hold passwords: it is searched and forgotten.
 */
export function isAttachDisabled(procPath: string, pid: number): boolean {
  const words = (readSmall(`${procPath}/${pid}/cmdline`) ?? '').split('\0');
  return words.findLast((word) => /^-XX:[+-]DisableAttachMechanism$/.test(word)) === '-XX:+DisableAttachMechanism';
}
