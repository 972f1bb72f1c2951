import type { Stats } from 'node:fs';

/** What the program does in another way on Windows. Nothing else in src asks which system it runs on. */
export interface OperatingSystem {
  /** For the report, e.g. `linux`. */
  readonly name: string;
  /** Each stops the sidecar with a drain. */
  readonly stopSignals: readonly NodeJS.Signals[];
  /** Those of `stopSignals` after which a person waits: no delay and no window. */
  readonly hurriedSignals: readonly NodeJS.Signals[];
  /** Each reloads the configuration and reopens the logs. */
  readonly reloadSignals: readonly NodeJS.Signals[];
  /** Signals after which the system ends the process by force, and how long a stop may take then. */
  readonly stopLimitsMs: Readonly<Partial<Record<NodeJS.Signals, number>>>;
  /** Where the kernel shows processes, e.g. `/proc`. Without such a folder, reading below this path fails. */
  readonly procPath: string;
  /** Flag of open(2): do not follow a link at the end of the path. */
  readonly noFollowFlag: number;
  /** Flags of open(2): do not wait for the other end of a FIFO, and take no terminal. */
  readonly noWaitFlags: number;
  /** Whether listen(2) can be called again, with another backlog. */
  readonly canListenAgain: boolean;
  /** Control socket of the installed service. */
  readonly serviceSocket: string;
  /** Numeric id of the user of this process; undefined where users have none, and owners of files are unknown. */
  userId(): number | undefined;
  /** The permission bits of a file's mode, e.g. 0o640; 0 where the mode does not say who may do what. */
  permissionsOf(mode: number): number;
  /** What to connect to for the path of a control socket, e.g. `/tmp/d2-sidecar-1000/812.sock`. */
  controlAddressOf(socketPath: string): string;
  /** Whether the path of a control socket names a pipe, which has neither a folder nor a mode. */
  isPipe(socketPath: string): boolean;
  /** Whether a file is a control socket, or shows one to commands. */
  isControlFile(found: Stats): boolean;
  /** Makes a rename in this folder durable. Rejects where the file system cannot. */
  syncFolder(folder: string): Promise<void>;
  /** The command that ends a process at once. */
  killCommand(pid: number): string;
  /** What starts the installed sidecar; Windows' has neither /proc nor attach sockets of JVMs. */
  readonly serviceManager: 'systemd' | 'windows';
  /** What to do if this user may not open a file. */
  accessAdvice(): string;
}
