import { setTimeout as wait } from 'node:timers/promises';

const STEP_MS = 5;

/** Resolves once `isSo` holds; after 20 s rejects with `what`. */
export async function until(what: string, isSo: () => boolean, timeoutMs = 20_000): Promise<void> {
  for (let waitedMs = 0; !isSo(); waitedMs += STEP_MS) {
    if (waitedMs >= timeoutMs) throw new Error(`still not so after ${timeoutMs} ms: ${what}`);
    await wait(STEP_MS);
  }
}
