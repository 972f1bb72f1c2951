import { setTimeout as wait } from 'node:timers/promises';

export function pick<T>(list: readonly T[]): T {
  return list[Math.floor(Math.random() * list.length)] as T;
}

/** Waits as long as independent people do (exponential); the cap keeps every user visible. `signal` ends it early. */
export async function pause(meanMs: number, signal: AbortSignal): Promise<void> {
  const ms = Math.min(-Math.log(1 - Math.random()) * meanMs, meanMs * 5);
  await wait(ms, undefined, { signal }).catch(() => undefined);
}
