import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { OperatingSystem } from './operating-system.ts';

export const posix: OperatingSystem = {
  name: process.platform,
  // Besides SIGTERM: Ctrl-C, the stop of images that are derived from nginx, the end of a container of LXC, and a limit
  // on processor time (RLIMIT_CPU).
  stopSignals: ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGPWR', 'SIGXCPU'],
  hurriedSignals: ['SIGINT'],
  reloadSignals: ['SIGHUP'],
  stopLimitsMs: {},
  procPath: '/proc',
  noFollowFlag: constants.O_NOFOLLOW,
  noWaitFlags: constants.O_NONBLOCK | constants.O_NOCTTY,
  canListenAgain: true,
  serviceSocket: '/run/d2-sidecar/control.sock',
  userId: () => process.geteuid?.(),
  permissionsOf: (mode) => mode & 0o777,
  controlAddressOf: (socketPath) => socketPath,
  isPipe: () => false,
  isControlFile: (found) => found.isSocket(),
  syncFolder: async (folder) => {
    const handle = await open(folder);
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
  killCommand: (pid) => `kill -KILL ${pid}`,
  serviceManager: 'systemd',
  accessAdvice: () =>
    `This command runs as user ${process.geteuid?.()}: run it as the user of the service or as root, or change the rights of the file and of the folders above it (namei -l FILE).`,
};
