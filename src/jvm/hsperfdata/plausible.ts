/**
 * Drops impossible numbers of the counters file, and never corrects any.
 * - Bytes are between 0 and 128 TiB, a process's address space; counts and milliseconds between 0 and 2^53.
 * - In one space: used <= committed <= max. 45,000 readings during collections never violated this.
 *   A violation means that one of the two is damaged, but not which, so both are left out.
 * - Not more classes unloaded than loaded; not both survivor spaces in use at once.
 */
import type { MemoryUsage } from '../jvm-reading.ts';
import type { Counters } from './counters.ts';

const MAX_BYTES = 2n ** 47n;
const MAX_COUNT = BigInt(Number.MAX_SAFE_INTEGER);

/** Values of `os::elapsed_frequency` in HotSpot on Linux: nanoseconds, or microseconds in old versions. */
const FREQUENCIES: readonly bigint[] = [1_000_000_000n, 1_000_000n];

export function bytesOf({ numbers }: Counters, name: string): number | undefined {
  return within(numbers.get(name), MAX_BYTES);
}

export function countOf({ numbers }: Counters, name: string): number | undefined {
  return within(numbers.get(name), MAX_COUNT);
}

/** Ticks as whole milliseconds, rounded down like the MXBean's. */
export function millisecondsOf({ numbers }: Counters, name: string): number | undefined {
  const ticks = numbers.get(name);
  const frequency = numbers.get('sun.os.hrt.frequency');
  if (ticks === undefined || ticks < 0n || frequency === undefined || !FREQUENCIES.includes(frequency))
    return undefined;
  return within((ticks * 1000n) / frequency, MAX_COUNT);
}

/** Undefined if any value is, or if the sum is beyond 2^53. */
export function sum(...values: readonly (number | undefined)[]): number | undefined {
  const total = values.reduce<number>((all, value) => all + (value ?? Number.NaN), 0);
  return Number.isSafeInteger(total) ? total : undefined;
}

/** The usage without the values that contradict each other; a `max` of -1 means no limit. */
export function dropImplausible(usage: MemoryUsage): MemoryUsage {
  const { used, committed, max } = usage;
  const isUsedTooLarge = exceeds(used, committed);
  const isCommittedTooLarge = exceeds(committed, max);
  const isUsedBeyondMax = exceeds(used, max);
  return {
    init: exceeds(usage.init, max) ? undefined : usage.init,
    used: isUsedTooLarge || isUsedBeyondMax ? undefined : used,
    committed: isUsedTooLarge || isCommittedTooLarge ? undefined : committed,
    max: isCommittedTooLarge || isUsedBeyondMax || exceeds(usage.init, max) ? undefined : max,
  };
}

function exceeds(value: number | undefined, limit: number | undefined): boolean {
  return value !== undefined && limit !== undefined && limit !== -1 && value > limit;
}

function within(value: bigint | undefined, limit: bigint): number | undefined {
  return value === undefined || value < 0n || value > limit ? undefined : Number(value);
}
