/**
 * Decides whether the JVM of a counters file still runs: SIGKILL leaves the file unchanged, and nothing in it shows
 * that the JVM ended. Best evidence first: the process, the lock that HotSpot holds on the file, a counter that moves.
 */
import type { Counters } from './counters.ts';
import type { PerfFile } from './perf-file.ts';
import { isStopped, isZombie, readAside, readProcess } from './processes.ts';
import { SEARCH_LIMITS, type SearchContext } from './search-bounds.ts';

export type Liveness = 'alive' | 'stopped' | 'gone' | 'unknown';

export interface LivenessEvidence {
  readonly hadLock: boolean;
  readonly ticks: bigint | undefined;
  readonly atNs: number;
}

/** HotSpot updates `sun.os.hrt.ticks` every 50 ms, but only up to JDK 24. */
export const TICKS_MOVE_WITHIN_MS = 150;

interface LivenessQuestion {
  /** In our pid namespace, if visible. */
  readonly process: { readonly pid: number; readonly startTicks: number } | undefined;
  readonly file: PerfFile;
  readonly counters: Counters;
  readonly previous?: LivenessEvidence | undefined;
}

export async function decideLiveness(
  context: SearchContext,
  { process, file, counters, previous }: LivenessQuestion,
): Promise<{ liveness: Liveness; evidence: LivenessEvidence }> {
  const nowNs = context.nowNs();
  if (process !== undefined) {
    const evidence = { hadLock: false, ticks: undefined, atNs: nowNs };
    return { liveness: ofProcess(context, process, file.uid), evidence };
  }
  const { pids } = await findLockHolders(context, file);
  const hasLock = pids.length > 0;
  const ticks = counters.numbers.get('sun.os.hrt.ticks');
  const isTimeToCompare = previous !== undefined && nowNs - previous.atNs >= TICKS_MOVE_WITHIN_MS * 1e6;
  const hasMoved =
    ticks !== undefined && isTimeToCompare && previous.ticks !== undefined ? ticks !== previous.ticks : undefined;
  const evidence = {
    hadLock: hasLock || previous?.hadLock === true,
    // Two readings in quick succession show nothing: keep the older one to compare with later.
    ...(previous === undefined || isTimeToCompare
      ? { ticks, atNs: nowNs }
      : { ticks: previous.ticks, atNs: previous.atNs }),
  };
  return { liveness: ofTraces(hasLock, previous?.hadLock === true, hasMoved), evidence };
}

function ofProcess({ procPath }: SearchContext, expected: { pid: number; startTicks: number }, uid: number): Liveness {
  const process = readProcess(procPath, expected.pid);
  // Another process may have the same pid by now.
  if (process === undefined || process.startTicks !== expected.startTicks || process.uid !== uid) return 'gone';
  if (isZombie(process)) return 'gone';
  return isStopped(process) ? 'stopped' : 'alive';
}

function ofTraces(hasLock: boolean, hadLock: boolean, hasMoved: boolean | undefined): Liveness {
  if (hasLock) return hasMoved === false ? 'stopped' : 'alive';
  if (hasMoved !== undefined) return hasMoved ? 'alive' : 'gone';
  return hadLock ? 'gone' : 'unknown';
}

/**
 * The processes that hold a lock on the file, by their pid in our namespace; HotSpot 17.0.15 and 25, at least, lock it.
 * Locks of processes that are not visible here are not listed. The kernel takes 8 to 17 ms for its list, since it waits
 * until all processors have passed a quiescent state (fs/locks.c).
 */
export async function findLockHolders({ procPath, bounds }: SearchContext, { device, inode }: PerfFile) {
  const exact: number[] = [];
  const sameInode: number[] = [];
  const locks = await readAside(`${procPath}/locks`, SEARCH_LIMITS.locksBytes, () => bounds.hit('locksBytes'));
  for (const line of (locks ?? '').split('\n')) {
    // `1: FLOCK  ADVISORY  WRITE 9740 fe:00:2154626 0 EOF`
    const [, kind, , mode, pid, place] = line.trim().split(/\s+/);
    const [major, minor, number] = place?.split(':') ?? [];
    if (kind !== 'FLOCK' || mode !== 'WRITE' || number !== String(inode) || !(Number(pid) > 0)) continue;
    (isDevice(device, major, minor) ? exact : sameInode).push(Number(pid));
  }
  // Some file systems (overlay, btrfs) report a different device in stat, so the lock may be another file's.
  return exact.length > 0 ? { pids: exact, isExact: true } : { pids: sameInode, isExact: false };
}

/** Compares stat's device number with the kernel's major and minor, which the list of locks prints in hexadecimal. */
function isDevice(device: bigint, major: string | undefined, minor: string | undefined): boolean {
  const deviceMajor = ((device >> 8n) & 0xfffn) | ((device >> 32n) & ~0xfffn);
  const deviceMinor = (device & 0xffn) | ((device >> 12n) & ~0xffn & 0xffffffffn);
  return (
    Number.parseInt(major ?? '', 16) === Number(deviceMajor) && Number.parseInt(minor ?? '', 16) === Number(deviceMinor)
  );
}
