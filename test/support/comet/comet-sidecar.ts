import type { Defer } from '../deferred.ts';
import { type SidecarProcess, startConfigured } from '../sidecar-process.ts';

/** `cometGone`: a client that is away for longer is gone; long enough for a login on a busy machine. */
const SHORT = { sessions: { cometGone: '3s' }, comet: { ackWait: '2s' } };

/** A real sidecar process in front of a plant, with short timeouts, so that tests need not wait long. */
export function startCometSidecar(defer: Defer, upstreamPort: number, config: object = {}): Promise<SidecarProcess> {
  return startConfigured(defer, `http://127.0.0.1:${upstreamPort}/smartWeb`, { ...SHORT, ...config });
}
