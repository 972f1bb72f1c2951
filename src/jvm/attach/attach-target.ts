/** The JVM to attach to, and the system that it runs on. */
import path from 'node:path';
import type { Collector } from '../hsperfdata/collectors.ts';

/** As read from the counters file and /proc. */
export interface AttachTarget {
  /** In our own pid namespace. Absent if not visible, e.g. in another container; then the JVM never gets a signal. */
  readonly pid?: number | undefined;
  /** In the JVM's own, innermost pid namespace: the number in the names of its files. */
  readonly nspid: number;
  /** Effective ids. */
  readonly uid: number;
  readonly gid: number;
  /** Field 22 of /proc/<pid>/stat; unique together with the pid. If given, no other process is accepted. */
  readonly startTicks?: number | undefined;
  /** Start time that the JVM reports, in milliseconds since 1970. */
  readonly startedEpochMs?: number | undefined;
  /** Prefix for the JVM's own paths: empty, or e.g. `/proc/812/root`. */
  readonly rootPath: string;
  /** The JVM's /tmp as we reach it. Default: the system's, below `rootPath`. */
  readonly tmpPath?: string | undefined;
  readonly collector?: Collector | undefined;
  /** E.g. 17. */
  readonly jdkMajor?: number | undefined;
}

/** Replaced in tests. */
export interface AttachSystem {
  readonly procPath: string;
  /** `/tmp`: HotSpot's folder for its sockets, whatever java.io.tmpdir says. */
  readonly tmpPath: string;
  /** Our own effective ids. */
  readonly uid: number;
  readonly gid: number;
  /** Our own pid, in the namespace that `kill` uses. */
  readonly pid: number;
  /** Like `process.arch`, e.g. `x64`. */
  readonly architecture: string;
  kill(pid: number, signal: 'SIGQUIT'): void;
}

export function tmpPathOf({ rootPath, tmpPath }: AttachTarget, system: AttachSystem): string {
  return tmpPath ?? path.join(rootPath, system.tmpPath);
}

/** Whether the JVM's absolute paths, and so its links, resolve to the same files for us. */
export function hasOurRoot({ rootPath }: AttachTarget): boolean {
  return rootPath === '' || rootPath === '/';
}

export function createAttachSystem(replaced: Partial<AttachSystem> = {}): AttachSystem {
  return {
    procPath: '/proc',
    tmpPath: '/tmp',
    // Absent on Windows, which has no attach socket either.
    uid: process.geteuid?.() ?? -1,
    gid: process.getegid?.() ?? -1,
    pid: process.pid,
    architecture: process.arch,
    kill: (pid, signal) => void process.kill(pid, signal),
    ...replaced,
  };
}
