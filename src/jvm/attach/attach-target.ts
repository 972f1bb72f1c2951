/** Which JVM is meant, and the machine it is looked at through. */
import path from 'node:path';
import type { Collector } from '../hsperfdata/collectors.ts';

/** As the counters file and /proc tell of it. */
export interface AttachTarget {
  /** In our own pid namespace. Absent where it is not visible, e.g. in another container; then it is never signalled. */
  readonly pid?: number | undefined;
  /** In its own, innermost pid namespace: the number in the names of its files. */
  readonly nspid: number;
  /** Effective ids. */
  readonly uid: number;
  readonly gid: number;
  /** With the pid, names its process for ever: field 22 of /proc/<pid>/stat. Where it is given, no other process will do. */
  readonly startTicks?: number | undefined;
  /** When it says that it started: ms since 1970. */
  readonly startedEpochMs?: number | undefined;
  /** What to put before its own paths: empty, or e.g. `/proc/812/root`. */
  readonly rootPath: string;
  /** Its /tmp as we reach it. Default: that of the system below `rootPath`. */
  readonly tmpPath?: string | undefined;
  readonly collector?: Collector | undefined;
  /** E.g. 17. */
  readonly jdkMajor?: number | undefined;
}

/** What tests replace. */
export interface AttachSystem {
  /** `/proc` */
  readonly procPath: string;
  /** `/tmp`: HotSpot's folder for its sockets, whatever java.io.tmpdir says. */
  readonly tmpPath: string;
  /** Our own effective ids. */
  readonly uid: number;
  readonly gid: number;
  /** Our own, in the namespace that `kill` takes numbers of. */
  readonly pid: number;
  /** As `process.arch`, e.g. `x64`. */
  readonly architecture: string;
  kill(pid: number, signal: 'SIGQUIT'): void;
}

/** E.g. `/proc/812/root/tmp`. */
export function tmpPathOf({ rootPath, tmpPath }: AttachTarget, system: AttachSystem): string {
  return tmpPath ?? path.join(rootPath, system.tmpPath);
}

/** Whether the JVM's own absolute paths, and with them its links, lead where they lead here. */
export function hasOurRoot({ rootPath }: AttachTarget): boolean {
  return rootPath === '' || rootPath === '/';
}

export function createAttachSystem(replaced: Partial<AttachSystem> = {}): AttachSystem {
  return {
    procPath: '/proc',
    tmpPath: '/tmp',
    // Absent on Windows, where there is no such socket either.
    uid: process.geteuid?.() ?? -1,
    gid: process.getegid?.() ?? -1,
    pid: process.pid,
    architecture: process.arch,
    kill: (pid, signal) => void process.kill(pid, signal),
    ...replaced,
  };
}
