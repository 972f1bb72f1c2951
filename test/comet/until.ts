import { setTimeout as wait } from 'node:timers/promises';

const STEP_MS = 5;

/** Resolves once `isSo` holds; rejects with `what`, and with what `detail` then says, when it does not within 20 s. */
export async function until(what: string, isSo: () => boolean, timeoutMs = 20_000, detail = () => ''): Promise<void> {
  for (let waitedMs = 0; !isSo(); waitedMs += STEP_MS) {
    if (waitedMs >= timeoutMs) throw new Error(`still not so after ${timeoutMs} ms: ${what}${detail()}`);
    await wait(STEP_MS);
  }
}
