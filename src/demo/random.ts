import { setTimeout as wait } from 'node:timers/promises';

export type Random = () => number;

/** A seeded generator (mulberry32, public domain, by Tommy Ettinger): the same seed repeats the same demo. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)] as T;
}

/** Waits as long as independent people do (exponential); the cap keeps every user visible. `signal` ends it early. */
export async function pause(random: Random, meanMs: number, signal: AbortSignal): Promise<void> {
  const ms = Math.min(-Math.log(1 - random()) * meanMs, meanMs * 5);
  await wait(ms, undefined, { signal }).catch(() => undefined);
}
