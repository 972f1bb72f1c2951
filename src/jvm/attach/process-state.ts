/** What has to be known of a process before it is sent a signal that ends most programs. */
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
  /** Whether a SIGQUIT waits for it to run, as in a frozen container. */
  readonly isQuitPending: boolean;
  /** With the pid, names a process for ever. */
  readonly startTicks: number;
}

/** SIGQUIT is signal 3, so bit 2. */
const QUIT_BIT = 0x4n;
const START_TIME_FIELD = 22;
/** Lists of mappings of large JVMs have a few hundred KiB. */
const MAX_MAPS_BYTES = 16 * 1_048_576;
const MAX_SMALL_BYTES = 1_048_576;
/** The dispatcher is among the first twenty; who has more threads than this and not yet shown it is not understood. */
const MAX_THREADS = 4096;
/** HotSpot's `Signal Dispatcher`, cut to the kernel's 15 characters. */
const SIGNAL_DISPATCHER = 'Signal Dispatch';
const ATTACH_LISTENER = 'Attach Listener';
/** The unit of start times for every program on Linux, whatever the kernel's own. */
const TICKS_PER_SECOND = 100;
/** A start takes a tenth of a second, on a machine with something else to do a few. */
const STARTING_SECONDS = 10;

/**
 * `undefined` if it is gone, not visible, or told in a way that is not understood. Synchronous, so that a signal can follow
 * at once: these two files need no lock of the process's, and so cannot hang with it.
 */
export function readProcessState(procPath: string, pid: number): ProcessState | undefined {
  const status = readSmall(`${procPath}/${pid}/status`);
  const stat = readSmall(`${procPath}/${pid}/stat`);
  if (status === undefined || stat === undefined) return undefined;
  const words = (name: string) => wordsOf(status, name);
  const [, uid] = words('Uid').map(Number);
  const [, gid] = words('Gid').map(Number);
  // Kernels before 4.1 have no NSpid; they also have no way to tell that the numbers differ.
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
 * Whether /proc counts processes as the kernel does for us. After `unshare --pid` without a mount of /proc, or with the host's
 * /proc in a container, the numbers there are those of other processes to `kill`.
 */
export function isOwnProc(procPath: string, ownPid: number): boolean {
  const numbers = wordsOf(readSmall(`${procPath}/self/status`) ?? '', 'NSpid');
  return numbers.length === 1 && Number(numbers[0]) === ownPid;
}

/**
 * Whether root there is root here. Where it is not, a JVM takes neither a marker of ours for root's nor us for root: it would
 * print its threads. Asynchronous, like all that follows: these files wait for locks of the process's.
 */
export async function hasOwnUserNamespace(procPath: string, pid: number): Promise<boolean> {
  const [ours, its] = await Promise.all(['self', pid].map((of) => readLink(`${procPath}/${of}/ns/user`)));
  if (ours !== undefined && its !== undefined) return ours === its;
  // Root without CAP_SYS_PTRACE may read only these.
  const [ourMap, itsMap] = await Promise.all(['self', pid].map((of) => readBounded(`${procPath}/${of}/uid_map`)));
  return ourMap === itsMap;
}

/**
 * Whether the process runs HotSpot: a server with another use for SIGQUIT, such as nginx, could have taken over the pid. OpenJ9,
 * whose library has the same name, answers it with a dump into a file. Where its mappings are closed to us, its name has to do.
 */
export async function isHotSpot(procPath: string, pid: number): Promise<boolean> {
  const maps = await readBounded(`${procPath}/${pid}/maps`, MAX_MAPS_BYTES);
  // Deleted: the JDK has been updated below the running JVM.
  if (maps) return /\/libjvm\.so(?: \(deleted\))?$/m.test(maps) && !/\/libj9vm\d*\.so/.test(maps);
  return /^(?:java|jsvc)/.test((await readBounded(`${procPath}/${pid}/comm`)) ?? '');
}

/**
 * Whether HotSpot's own thread for SIGQUIT is there. With -Xrs it is not, however that was said (a file of options, the
 * environment), and the program may have a handler of its own: it ends many of them.
 */
export async function hasSignalDispatcher(procPath: string, pid: number): Promise<boolean> {
  return await hasThread(procPath, pid, SIGNAL_DISPATCHER);
}

/**
 * Whether a JVM that has just started is about to open its socket by itself: it would open it a second time, or print its
 * threads. Later on, the same thread without a socket means that the socket has been removed.
 */
export async function isAboutToListen(procPath: string, pid: number, { startTicks }: ProcessState): Promise<boolean> {
  const [upSeconds] = ((await readBounded(`${procPath}/uptime`)) ?? '').split(' ').map(Number);
  if (upSeconds !== undefined && upSeconds - startTicks / TICKS_PER_SECOND > STARTING_SECONDS) return false;
  const words = await readCommandLine(procPath, pid);
  return words.includes('-XX:+StartAttachListener') || (await hasThread(procPath, pid, ATTACH_LISTENER));
}

/** Whether the command line says that the JVM has no attach socket; it can also be said elsewhere, e.g. in JAVA_TOOL_OPTIONS. */
export async function isAttachDisabled(procPath: string, pid: number): Promise<boolean> {
  const words = await readCommandLine(procPath, pid);
  return words.findLast((word) => /^-XX:[+-]DisableAttachMechanism$/.test(word)) === '-XX:+DisableAttachMechanism';
}

/** May hold passwords: to be searched and forgotten. */
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
