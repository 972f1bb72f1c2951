/** Loaded before the sidecar (`node --import`): `reset` clears, and `read` is answered with, the longest blocking of the loop and its busy time. */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';

const RESOLUTION_MS = 1;
const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delays.enable();
let before = performance.eventLoopUtilization();
let cpuBefore = process.cpuUsage();
process.on('message', (message) => {
  if (message === 'reset') {
    delays.reset();
    before = performance.eventLoopUtilization();
    cpuBefore = process.cpuUsage();
    return;
  }
  // A delay is measured between ticks of the probe's timer, so one tick is no delay.
  const blockedMs = Math.max(0, delays.max / 1e6 - RESOLUTION_MS);
  const { user, system } = process.cpuUsage(cpuBefore);
  // Neither is less than the loop's own work. The first has the time in which other programs ran as well.
  const activeMs = Math.min(performance.eventLoopUtilization(before).active, (user + system) / 1e3);
  process.send?.({ blockedMs, activeMs });
});
process.channel?.unref();
