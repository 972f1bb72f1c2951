import { constants, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import { win32 } from 'node:path';

type Signals = readonly NodeJS.Signals[];

const posix = {
  /** For the report, e.g. `linux`. */
  name: process.platform as string,
  /**
   * Each stops the sidecar with a drain. Besides SIGTERM: Ctrl-C, the stop of images that are derived from nginx, the
   * end of a container of LXC, and a limit on processor time (RLIMIT_CPU).
   */
  stopSignals: ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGPWR', 'SIGXCPU'] as Signals,
  /** Those of `stopSignals` after which a person waits: no delay and no window. */
  hurriedSignals: ['SIGINT'] as Signals,
  /** Each reloads the configuration and reopens the logs. */
  reloadSignals: ['SIGHUP'] as Signals,
  /** Signals after which the system ends the process by force, and how long a stop may take then. */
  stopLimitsMs: {} as Readonly<Partial<Record<NodeJS.Signals, number>>>,
  /** Where the kernel shows processes. Without such a folder, reading below this path fails. */
  procPath: '/proc',
  /** Flag of open(2): do not follow a link at the end of the path. */
  noFollowFlag: constants.O_NOFOLLOW,
  /** Flags of open(2): do not wait for the other end of a FIFO, and take no terminal. */
  noWaitFlags: constants.O_NONBLOCK | constants.O_NOCTTY,
  /** Whether listen(2) can be called again, with another backlog. */
  canListenAgain: true,
  serviceSocket: '/run/d2-sidecar/control.sock',
  /** Numeric id of the user of this process; undefined where users have none, and owners of files are unknown. */
  userId: (): number | undefined => process.geteuid?.(),
  /** The permission bits of a file's mode, e.g. 0o640; 0 where the mode does not say who may do what. */
  permissionsOf: (mode: number) => mode & 0o777,
  /** What to connect to for the path of a control socket, e.g. `/tmp/d2-sidecar-1000/812.sock`. */
  controlAddressOf: (socketPath: string) => socketPath,
  /** Whether the path of a control socket names a pipe, which has neither a folder nor a mode. */
  isPipe: (_socketPath: string): boolean => false,
  /** Whether a file is a control socket, or shows one to commands. */
  isControlFile: (found: Stats) => found.isSocket(),
  /** Makes a rename in this folder durable. Rejects where the file system cannot. */
  syncFolder: async (folder: string): Promise<void> => {
    const handle = await open(folder);
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
  /** The command that ends a process at once. */
  killCommand: (pid: number) => `kill -KILL ${pid}`,
  /** What starts the installed sidecar; Windows' has neither /proc nor attach sockets of JVMs. */
  serviceManager: 'systemd' as 'systemd' | 'windows',
  /** What to do if this user may not open a file. */
  accessAdvice: () =>
    `This command runs as user ${process.geteuid?.()}: run it as the user of the service or as root, or change the rights of the file and of the folders above it (namei -l FILE).`,
};

/** What the program does in another way on Windows. Nothing else in src asks which system it runs on. */
type OperatingSystem = Readonly<typeof posix>;

const PIPE_FOLDER = '\\\\.\\pipe\\';
const PIPE = /^[\\/]{2}[.?][\\/]pipe[\\/]/i;

/**
 * Access control lists decide who may do what with a file. Node shows neither them nor the owner: it makes the mode up, so
 * that every file looks writable by all. The installation has to keep the program's folders closed to other users.
 */
export const windows: OperatingSystem = {
  name: 'win32',
  // Ctrl-C, Ctrl-Break, and closing the console, which ends its processes even if they handle it.
  stopSignals: ['SIGINT', 'SIGBREAK', 'SIGHUP'],
  hurriedSignals: ['SIGINT', 'SIGBREAK', 'SIGHUP'],
  reloadSignals: [],
  // Windows grants 5 s (HandlerRoutine in Microsoft's documentation).
  stopLimitsMs: { SIGHUP: 3_000 },
  // No name of a file may contain `*`. `/proc` would be a folder of the current drive, which any user could create.
  procPath: '\\\\.\\*',
  noFollowFlag: 0,
  noWaitFlags: 0,
  // libuv ends the process at a backlog of 0.
  canListenAgain: false,
  serviceSocket: `${PIPE_FOLDER}d2-sidecar`,
  userId: () => undefined,
  permissionsOf: () => 0,
  controlAddressOf: (socketPath) =>
    windows.isPipe(socketPath) ? socketPath : `${PIPE_FOLDER}d2-sidecar-${win32.parse(socketPath).name}`,
  isPipe: (socketPath) => PIPE.test(socketPath),
  isControlFile: (found) => found.isFile() && found.size === 0,
  // NTFS keeps renames in a journal; Windows opens no folder for FlushFileBuffers.
  syncFolder: async () => undefined,
  killCommand: (pid) => `taskkill /F /PID ${pid}`,
  serviceManager: 'windows',
  accessAdvice: () =>
    `This command runs as user ${process.env.USERNAME}: run it as the user of the service or as an administrator, or change the rights of the file (icacls FILE).`,
};

export const platform: OperatingSystem = process.platform === 'win32' ? windows : posix;
