import { win32 } from 'node:path';
import type { OperatingSystem } from './operating-system.ts';

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
