import { spawnSync } from 'node:child_process';

/** Running a Pod here needs root and Linux. */
export const canRunPods =
  process.platform === 'linux' &&
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['--net', '--mount', '--pid', '--fork', 'ip', 'link', 'set', 'lo', 'up']).status === 0;

/** D2S_REQUIRE_CONTAINER makes it a failure if they cannot be run. */
export const arePodsWanted = canRunPods || process.env.D2S_REQUIRE_CONTAINER !== undefined;
