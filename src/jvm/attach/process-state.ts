/** The system that the JVM runs on, and checks of a process before it gets a signal that ends most programs. */
import { readdir, readlink } from 'node:fs/promises';
import { platform } from '../../base/platform/platform.ts';
import { type ProcessInfo, parseStatusWords, readAside, readSmall } from '../hsperfdata/processes.ts';

/** A large JVM's list of mappings has a few hundred KiB. */
const MAX_MAPS_BYTES = 16 * 1_048_576;
/** The dispatcher is among the first twenty threads. If it is not among this many, it counts as missing. */
const MAX_THREADS = 4096;
/**
 * HotSpot's thread for SIGQUIT, `Signal Dispatcher`, cut to the kernel's 15 characters. With -Xrs it does not exist,
 * wherever that option was set (a file of options, the environment). The program may then have its own handler for
 * SIGQUIT, and many of those end the program.
 */
export const SIGNAL_DISPATCHER = 'Signal Dispatch';
const ATTACH_LISTENER = 'Attach Listener';
const TICKS_PER_SECOND = 100;
/** A start takes a tenth of a second, or a few seconds on a busy machine. */
const STARTING_SECONDS = 10;

/**
 * Whether /proc shows pids of our own namespace. After `unshare --pid` without a new /proc, or with the host's /proc in
 * a container, `kill` with a pid from there would hit another process.
 */
export function isOwnProc(procPath: string, ownPid: number): boolean {
  const numbers = parseStatusWords(readSmall(`${procPath}/self/status`) ?? '')('NSpid');
  return numbers.length === 1 && Number(numbers[0]) === ownPid;
}

/**
 * Whether root in the process's user namespace is our root. If not, the JVM trusts neither our marker nor us, and would
 * print its threads. Asynchronous, like the functions below: reading these files waits for locks of the process.
 */
export async function hasOwnUserNamespace(procPath: string, pid: number): Promise<boolean> {
  const [ours, its] = await Promise.all(
    ['self', pid].map((of) => readlink(`${procPath}/${of}/ns/user`).catch(() => undefined)),
  );
  if (ours !== undefined && its !== undefined) return ours === its;
  // All that root may read without CAP_SYS_PTRACE.
  const [ourMap, itsMap] = await Promise.all(['self', pid].map((of) => readAside(`${procPath}/${of}/uid_map`)));
  return ourMap === itsMap;
}

/**
 * Whether the process runs HotSpot. A server that uses SIGQUIT otherwise, such as nginx, may have the pid by now.
 * OpenJ9's library has the same name, but it dumps into a file on SIGQUIT. If the mappings cannot be read, the name
 * decides.
 */
export async function isHotSpot(procPath: string, pid: number): Promise<boolean> {
  const maps = await readAside(`${procPath}/${pid}/maps`, MAX_MAPS_BYTES);
  // Deleted: the JDK was updated while the JVM was running.
  if (maps) return /\/libjvm\.so(?: \(deleted\))?$/m.test(maps) && !/\/libj9vm\d*\.so/.test(maps);
  return /^(?:java|jsvc)/.test((await readAside(`${procPath}/${pid}/comm`)) ?? '');
}

/**
 * Whether a JVM that has just started is about to open its socket on its own; a SIGQUIT would make it open the socket
 * twice, or print its threads. Later, the same thread without a socket means that the socket was removed.
 */
export async function isAboutToListen(procPath: string, pid: number, { startTicks }: ProcessInfo): Promise<boolean> {
  const [upSeconds] = ((await readAside(`${procPath}/uptime`)) ?? '').split(' ').map(Number);
  if (upSeconds !== undefined && upSeconds - startTicks / TICKS_PER_SECOND > STARTING_SECONDS) return false;
  const words = await readCommandLine(procPath, pid);
  return words.includes('-XX:+StartAttachListener') || (await hasThread(procPath, pid, ATTACH_LISTENER));
}

export async function isAttachDisabled(procPath: string, pid: number): Promise<boolean> {
  const words = await readCommandLine(procPath, pid);
  return words.findLast((word) => /^-XX:[+-]DisableAttachMechanism$/.test(word)) === '-XX:+DisableAttachMechanism';
}

/** The result may contain passwords: search it, and do not keep it. */
async function readCommandLine(procPath: string, pid: number): Promise<readonly string[]> {
  return ((await readAside(`${procPath}/${pid}/cmdline`)) ?? '').split('\0');
}

export async function hasThread(procPath: string, pid: number, name: string): Promise<boolean> {
  const folder = `${procPath}/${pid}/task`;
  const threads = (await readdir(folder).catch(() => [])).map(Number).sort((a, b) => a - b);
  for (const thread of threads.slice(0, MAX_THREADS)) {
    if ((await readAside(`${folder}/${thread}/comm`))?.trim() === name) return true;
  }
  return false;
}

/** The system that the JVM runs on; replaced in tests. */
export interface AttachSystem {
  readonly procPath: string;
  readonly uid: number;
  readonly gid: number;
  /** Our own pid, in the namespace that `kill` uses. */
  readonly pid: number;
  readonly architecture: string;
  kill(pid: number, signal: 'SIGQUIT'): void;
}

export function createAttachSystem(replaced: Partial<AttachSystem> = {}): AttachSystem {
  return {
    procPath: '/proc',
    // Undefined on Windows, which has no attach socket either.
    uid: platform.userId() ?? -1,
    gid: process.getegid?.() ?? -1,
    pid: process.pid,
    architecture: process.arch,
    kill: (pid, signal) => void process.kill(pid, signal),
    ...replaced,
  };
}
