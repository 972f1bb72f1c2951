/**
 * Reads processes from /proc. Small files that the kernel has ready are read synchronously, in some microseconds each.
 * Data that the kernel first has to collect is read on another thread, because it would block the event loop.
 */
import { closeSync, constants, openSync, readlinkSync, readSync } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { attempt } from '../../base/attempt.ts';
import { SEARCH_LIMITS, type SearchContext } from './search-bounds.ts';

export type ProcessInfo = NonNullable<ReturnType<typeof readProcess>>;

/** Processes to read between two turns of the event loop: about a third of a millisecond, like this many links. */
const PROCESSES_PER_TURN = 8;
const LINKS_PER_TURN = 64;
/** Most files here are smaller, and there are hundreds. With 64 KB each, 110 processes took 28 MB of buffers. */
const PIECE_BYTES = 4_096;
const MAX_SMALL_BYTES = 1_048_576;
/** SIGQUIT is signal 3, so bit 2. */
const QUIT_BIT = 0x4n;

/**
 * Undefined for a process that has ended or is not visible. Synchronous, so that a signal can follow at once: these two
 * files take no lock of the process, so reading them cannot hang.
 */
export function readProcess(procPath: string, pid: number | 'self') {
  const { words, fields } = readStatus(`${procPath}/${pid}`) ?? {};
  if (words === undefined || fields === undefined) return undefined;
  const ownPid = Number(words('Pid')[0]);
  const [, uid] = words('Uid').map(Number);
  const [, gid] = words('Gid').map(Number);
  const nspid = Number(words('NSpid').at(-1) || ownPid);
  const startTicks = Number(fields[START_TICKS]);
  if (![ownPid, nspid, startTicks].every(Number.isSafeInteger) || uid === undefined || gid === undefined)
    return undefined;
  // A mask in an unknown form counts as empty: such a process gets no signal.
  const bits = (name: string) => BigInt(`0x${/^[0-9a-f]{1,32}$/.exec(words(name)[0] ?? '')?.[0] ?? '0'}`);
  const hasQuit = (name: string) => (bits(name) & QUIT_BIT) !== 0n;
  return {
    ...{ pid: ownPid, uid, gid },
    /** In the process's own, innermost pid namespace: the name of its counters file. */
    nspid,
    /** Start time in hundredths of a second since boot, whatever the kernel uses itself; unique together with the pid. */
    startTicks,
    /** At most 15 characters, e.g. `java`. */
    name: words('Name').join(' '),
    /** `R`, `S`, `D`, `T` stopped, `t` traced, `Z` ended, `X` dead, `I` idle. */
    state: words('State')[0] ?? '',
    /** A process needs all of them in effect to inspect this one. */
    capabilities: bits('CapPrm'),
    effectiveCapabilities: bits('CapEff'),
    /** Whether SIGQUIT has a handler. Without one it kills: a JVM with -Xrs, or one in the first moments of its start. */
    catchesQuit: hasQuit('SigCgt'),
    /** Whether a SIGQUIT is pending until the process runs again, as in a frozen container. */
    isQuitPending: hasQuit('SigPnd') || hasQuit('ShdPnd'),
  };
}

/** Index of the start time in the fields of `readStatus`: field 22 of proc(5). */
export const START_TICKS = 19;

/**
 * The words of a process's `status`, and the fields of its `stat` after the name, from the third one on. The name, in
 * parentheses, may contain spaces and parentheses.
 */
export function readStatus(folder: string) {
  const status = readSmall(`${folder}/status`);
  const stat = readSmall(`${folder}/stat`);
  if (status === undefined || stat === undefined) return undefined;
  return { words: parseStatusWords(status), fields: stat.slice(stat.lastIndexOf(')') + 2).split(' ') };
}

/** The words after a name in /proc/<pid>/status, e.g. `['1000', '1000', '1000', '1000']` for `Uid`. */
export function parseStatusWords(status: string): (name: string) => readonly string[] {
  const fields = new Map(status.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line] as const));
  return (name) => (fields.get(name)?.slice(name.length + 1) ?? '').trim().split(/\s+/);
}

/** Whether the process has ended, and its parent has not read that yet. */
export function isZombie({ state }: ProcessInfo): boolean {
  return state === 'Z' || state === 'X';
}

/** By SIGSTOP or a debugger. */
export function isStopped({ state }: ProcessInfo): boolean {
  return state === 'T' || state === 't';
}

/** All visible processes, those that look like a JVM first. */
export async function readProcesses({ procPath, bounds, signal }: SearchContext): Promise<ProcessInfo[]> {
  const processes: ProcessInfo[] = [];
  const pids = (await readdir(procPath).catch(() => [])).filter((name) => /^\d+$/.test(name));
  for (const [index, pid] of bounds.cut(pids, 'processes').entries()) {
    await pause(index, signal);
    const info = readProcess(procPath, Number(pid));
    // This process is not a JVM, and in a container it may have the same pid as a JVM in another.
    if (info !== undefined && !(procPath === '/proc' && info.pid === process.pid)) processes.push(info);
  }
  return processes.sort((a, b) => Number(looksLikeJvm(b)) - Number(looksLikeJvm(a)));
}

/** By the name of its launcher. Other processes can be JVMs, too. */
export function looksLikeJvm({ name }: ProcessInfo): boolean {
  return /^(?:java|jsvc)/.test(name);
}

/** The processes that hold one of these sockets open. Skips processes that we may not inspect. */
export async function findHolders(
  { procPath, signal }: SearchContext,
  processes: readonly ProcessInfo[],
  socketInodes: ReadonlySet<string>,
): Promise<ProcessInfo[]> {
  const holders: ProcessInfo[] = [];
  let looked = 0;
  for (const candidate of processes) {
    const directory = `${procPath}/${candidate.pid}/fd`;
    // An application server has thousands of them. None if the process has ended or we may not read it.
    for (const fd of await readdir(directory).catch(() => [])) {
      looked += 1;
      await pause(looked, signal, LINKS_PER_TURN);
      const target = attempt(() => readlinkSync(`${directory}/${fd}`));
      if (target === undefined || !target.startsWith('socket:[') || !socketInodes.has(target.slice(8, -1))) continue;
      holders.push(candidate);
      break;
    }
    // A listening JVM is enough: other holders, e.g. a parent that opened the socket, do not matter then.
    if (holders.some(looksLikeJvm) && !looksLikeJvm(candidate)) break;
  }
  return holders;
}

/** E.g. `mnt:[4026531841]`; undefined if we may not read it. */
export function mountNamespaceOf(procPath: string, pid: number | 'self'): string | undefined {
  return attempt(() => readlinkSync(`${procPath}/${pid}/ns/mnt`));
}

/** Whether the process has the file mapped, e.g. `hsperfdata_tomcat/812`; undefined if we may not read its mappings. */
export async function hasMapped(
  { procPath, bounds }: SearchContext,
  pid: number,
  fileName: string,
): Promise<boolean | undefined> {
  let isCut = false;
  const maps = await readAside(`${procPath}/${pid}/maps`, SEARCH_LIMITS.mapsBytes, () => {
    isCut = true;
    bounds.hit('mapsBytes');
  });
  const isThere = maps?.split('\n').some((line) => line.endsWith(`/${fileName}`));
  return isCut && isThere === false ? undefined : isThere;
}

/** When a process started, in milliseconds since 1970; exact to a second unless the clock was changed since. */
export function startedEpochMsOf(procPath: string, { startTicks }: ProcessInfo): number | undefined {
  const [, bootSeconds] = /^btime (\d+)$/m.exec(readSmall(`${procPath}/stat`) ?? '') ?? [];
  return bootSeconds === undefined ? undefined : Number(bootSeconds) * 1000 + startTicks * 10;
}

/** Yields to the event loop regularly in a long search. Throws when `signal` has aborted. */
export async function pause(index: number, signal: AbortSignal, every = PROCESSES_PER_TURN): Promise<void> {
  if (index % every !== every - 1) return;
  await nextTurn();
  signal.throwIfAborted();
}

/** A small file of /proc, up to `MAX_SMALL_BYTES`. Never blocks, even if a container has put a FIFO there. */
export function readSmall(path: string): string | undefined {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    try {
      const piece = Buffer.allocUnsafe(PIECE_BYTES);
      let text = '';
      while (text.length < MAX_SMALL_BYTES) {
        const length = readSync(fd, piece, 0, piece.length, null);
        if (length === 0) break;
        text += piece.toString('latin1', 0, length);
      }
      return text;
    } finally {
      closeSync(fd);
    }
  } catch {
    return undefined;
  }
}

/** A file of /proc that the kernel produces slowly; undefined if it cannot be read. Otherwise like `piecesAside`. */
export async function readAside(
  path: string,
  maxBytes: number = MAX_SMALL_BYTES,
  onCut: () => void = () => undefined,
): Promise<string | undefined> {
  let text = '';
  try {
    for await (const piece of piecesAside(path, maxBytes, onCut)) text += piece;
    return text;
  } catch {
    return undefined;
  }
}

/** Reads a file of /proc on another thread. Calls `onCut` beyond `maxBytes`. Throws if it cannot be opened. */
export async function* piecesAside(path: string, maxBytes: number, onCut: () => void): AsyncGenerator<string> {
  const file = await open(path, 'r');
  try {
    const buffer = Buffer.allocUnsafe(PIECE_BYTES);
    for (let total = 0; ; ) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) return;
      if (total >= maxBytes) {
        onCut();
        return;
      }
      total += bytesRead;
      yield buffer.toString('latin1', 0, bytesRead);
    }
  } finally {
    await file.close();
  }
}
