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
    // Absent on Windows, which has no attach socket either.
    uid: process.geteuid?.() ?? -1,
    gid: process.getegid?.() ?? -1,
    pid: process.pid,
    architecture: process.arch,
    kill: (pid, signal) => void process.kill(pid, signal),
    ...replaced,
  };
}
