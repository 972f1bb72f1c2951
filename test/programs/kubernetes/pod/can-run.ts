import { spawnSync } from 'node:child_process';
import { isAvailable } from '../../../support/programs.ts';

/** Running a Pod here needs root and Linux. */
export const canRunPods = isAvailable(
  'Pods, as root',
  process.platform === 'linux' &&
    process.getuid?.() === 0 &&
    spawnSync('unshare', ['--net', '--mount', '--pid', '--fork', 'ip', 'link', 'set', 'lo', 'up']).status === 0,
);
