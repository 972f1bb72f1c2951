import { setTimeout as wait } from 'node:timers/promises';
import type { Random } from './random.ts';

/** Exponential, like pauses of independent people; the cap keeps every user visible. The signal ends it early. */
export async function pause(random: Random, meanMs: number, signal: AbortSignal): Promise<void> {
  const ms = Math.min(-Math.log(1 - random()) * meanMs, meanMs * 5);
  try {
    await wait(ms, undefined, { signal });
  } catch {
    // Callers look at the signal.
  }
}
