/** What must be known of a process before it gets a signal that ends most programs. */
import { type FileHandle, open, readdir, readlink } from 'node:fs/promises';
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
  /** Whether a SIGQUIT is pending until the process runs again, as in a frozen container. */
  readonly isQuitPending: boolean;
  /** Unique together with the pid. */
  readonly startTicks: number;
}

/** SIGQUIT is signal 3, so bit 2. */
const QUIT_BIT = 0x4n;
const START_TIME_FIELD = 22;
/** A large JVM's list of mappings has a few hundred KiB. */
const MAX_MAPS_BYTES = 16 * 1_048_576;
const MAX_SMALL_BYTES = 1_048_576;
/** The dispatcher is among the first twenty threads. If it is not among this many, it counts as missing. */
const MAX_THREADS = 4096;
/** HotSpot's `Signal Dispatcher`, cut to the kernel's 15 characters. */
const SIGNAL_DISPATCHER = 'Signal Dispatch';
const ATTACH_LISTENER = 'Attach Listener';
/** Linux reports start times in this unit to every program, whatever the kernel uses itself. */
const TICKS_PER_SECOND = 100;
/** A start takes a tenth of a second, or a few seconds on a busy machine. */
const STARTING_SECONDS = 10;

/**
 * Undefined if the process is gone, not visible, or its files are not understood. Synchronous, so that a signal can
 * follow at once: these two files take no lock of the process, so reading them cannot hang.
 */
export function readProcessState(procPath: string, pid: number): ProcessState | undefined {
  const status = readSmall(`${procPath}/${pid}/status`);
  const stat = readSmall(`${procPath}/${pid}/stat`);
  if (status === undefined || stat === undefined) return undefined;
  const words = (name: string) => wordsOf(status, name);
  const [, uid] = words('Uid').map(Number);
  const [, gid] = words('Gid').map(Number);
  // Kernels before 4.1 have no NSpid, and no other way to see that the pids differ.
  const nspid = Number(words('NSpid').at(-1));
  const [state] = words('State');
  // The program's name, field 2, may hold blanks and parentheses.
  const startTicks = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[START_TIME_FIELD - 3]);
  const [caught, ...pending] = ['SigCgt', 'SigPnd', 'ShdPnd'].map((name) => hasQuit(words(name)[0] ?? ''));
  if (uid === undefined || gid === undefined || state === undefined || caught === undefined) return undefined;
  if (![nspid, uid, gid, startTicks].every(Number.isSafeInteger)) return undefined;
  return { nspid, uid, gid, state, catchesQuit: caught, isQuitPending: pending.includes(true), startTicks };
}

function wordsOf(status: string, name: string): readonly string[] {
  return new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1]?.trim().split(/\s+/) ?? [];
}

function hasQuit(mask: string): boolean | undefined {
  return /^[0-9a-f]{1,32}$/.test(mask) ? (BigInt(`0x${mask}`) & QUIT_BIT) !== 0n : undefined;
}

/**
 * Whether /proc shows pids of our own namespace. After `unshare --pid` without a new /proc, or with the host's /proc in
 * a container, `kill` with a pid from there would hit another process.
 */
export function isOwnProc(procPath: string, ownPid: number): boolean {
  const numbers = wordsOf(readSmall(`${procPath}/self/status`) ?? '', 'NSpid');
  return numbers.length === 1 && Number(numbers[0]) === ownPid;
}

/**
 * Whether root in the process's user namespace is our root. If not, the JVM trusts neither our marker nor us, and would
 * print its threads. Asynchronous, like the functions below: reading these files waits for locks of the process.
 */
export async function hasOwnUserNamespace(procPath: string, pid: number): Promise<boolean> {
  const [ours, its] = await Promise.all(['self', pid].map((of) => readLink(`${procPath}/${of}/ns/user`)));
  if (ours !== undefined && its !== undefined) return ours === its;
  // All that root may read without CAP_SYS_PTRACE.
  const [ourMap, itsMap] = await Promise.all(['self', pid].map((of) => readBounded(`${procPath}/${of}/uid_map`)));
  return ourMap === itsMap;
}

/**
 * Whether the process runs HotSpot. A server that uses SIGQUIT otherwise, such as nginx, may have the pid by now.
 * OpenJ9's library has the same name, but it dumps into a file on SIGQUIT. If the mappings are closed, the name counts.
 */
export async function isHotSpot(procPath: string, pid: number): Promise<boolean> {
  const maps = await readBounded(`${procPath}/${pid}/maps`, MAX_MAPS_BYTES);
  // Deleted: the JDK was updated while the JVM was running.
  if (maps) return /\/libjvm\.so(?: \(deleted\))?$/m.test(maps) && !/\/libj9vm\d*\.so/.test(maps);
  return /^(?:java|jsvc)/.test((await readBounded(`${procPath}/${pid}/comm`)) ?? '');
}

/**
 * Whether HotSpot's thread for SIGQUIT exists. With -Xrs it does not, wherever that option was set (a file of options,
 * the environment). The program may then have its own handler for SIGQUIT, and many of those end the program.
 */
export async function hasSignalDispatcher(procPath: string, pid: number): Promise<boolean> {
  return await hasThread(procPath, pid, SIGNAL_DISPATCHER);
}

/**
 * Whether a JVM that has just started is about to open its socket by itself; a SIGQUIT would make it open the socket
 * twice, or print its threads. Later, the same thread without a socket means that the socket was removed.
 */
export async function isAboutToListen(procPath: string, pid: number, { startTicks }: ProcessState): Promise<boolean> {
  const [upSeconds] = ((await readBounded(`${procPath}/uptime`)) ?? '').split(' ').map(Number);
  if (upSeconds !== undefined && upSeconds - startTicks / TICKS_PER_SECOND > STARTING_SECONDS) return false;
  const words = await readCommandLine(procPath, pid);
  return words.includes('-XX:+StartAttachListener') || (await hasThread(procPath, pid, ATTACH_LISTENER));
}

/** Whether the command line disables the attach socket. It may also be disabled e.g. in JAVA_TOOL_OPTIONS. */
export async function isAttachDisabled(procPath: string, pid: number): Promise<boolean> {
  const words = await readCommandLine(procPath, pid);
  return words.findLast((word) => /^-XX:[+-]DisableAttachMechanism$/.test(word)) === '-XX:+DisableAttachMechanism';
}

/** The result may hold passwords: search it, and do not keep it. */
async function readCommandLine(procPath: string, pid: number): Promise<readonly string[]> {
  return ((await readBounded(`${procPath}/${pid}/cmdline`)) ?? '').split('\0');
}

async function hasThread(procPath: string, pid: number, name: string): Promise<boolean> {
  const folder = `${procPath}/${pid}/task`;
  const threads = (await readdir(folder).catch(() => [])).map(Number).sort((a, b) => a - b);
  for (const thread of threads.slice(0, MAX_THREADS)) {
    if ((await readBounded(`${folder}/${thread}/comm`))?.trim() === name) return true;
  }
  return false;
}

async function readLink(path: string): Promise<string | undefined> {
  return await readlink(path).catch(() => undefined);
}

async function readBounded(path: string, maxBytes = MAX_SMALL_BYTES): Promise<string | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(path);
    const chunks: Buffer[] = [];
    for (let total = 0; total < maxBytes; ) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(65_536), 0, 65_536, null);
      if (bytesRead === 0) break;
      chunks.push(buffer.subarray(0, bytesRead));
      total += bytesRead;
    }
    return Buffer.concat(chunks).toString('latin1');
  } catch {
    return undefined;
  } finally {
    await file?.close();
  }
}
