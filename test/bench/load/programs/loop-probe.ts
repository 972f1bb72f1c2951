/**
 * Loaded before the sidecar (`node --import`): tells over the channel how long its event loop was blocked at most. A message
 * `reset` forgets what was; `read` is answered with `{ blockedMs }`.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 1;
const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delays.enable();
process.on('message', (message) => {
  if (message === 'reset') delays.reset();
  // A delay is counted from tick to tick of the probe's timer, so one tick is no delay at all.
  else process.send?.({ blockedMs: Math.max(0, delays.max / 1e6 - RESOLUTION_MS) });
});
process.channel?.unref();
