/** Loaded before the sidecar (`node --import`): `reset` clears, and `read` is answered with, the longest blocking: `{ blockedMs }`. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 1;
const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delays.enable();
process.on('message', (message) => {
  if (message === 'reset') delays.reset();
  // A delay is measured between ticks of the probe's timer, so one tick is no delay.
  else process.send?.({ blockedMs: Math.max(0, delays.max / 1e6 - RESOLUTION_MS) });
});
process.channel?.unref();
