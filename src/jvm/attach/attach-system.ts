import path from 'node:path';
import type { VisibleJvm } from '../hsperfdata/visible-jvm.ts';

/** The system that the JVM runs on; replaced in tests. */
export interface AttachSystem {
  readonly procPath: string;
  /** `/tmp`: HotSpot's folder for its sockets, regardless of java.io.tmpdir. */
  readonly tmpPath: string;
  readonly uid: number;
  readonly gid: number;
  /** Our own pid, in the namespace that `kill` uses. */
  readonly pid: number;
  readonly architecture: string;
  kill(pid: number, signal: 'SIGQUIT'): void;
}

export function tmpPathOf({ rootPath, tmpPath }: VisibleJvm, system: AttachSystem): string {
  return tmpPath ?? path.join(rootPath, system.tmpPath);
}

/** Whether the JVM's absolute paths, and so its links, resolve to the same files for us. */
export function hasOurRoot({ rootPath }: VisibleJvm): boolean {
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
