import type { JvmReading } from '../../../src/jvm/jvm-source.ts';

/** Something in the reading that no JVM can have. */
export function impossibleIn({ classes, heap, nonHeap, pools, collectors }: JvmReading): string | undefined {
  for (const part of [classes, heap, nonHeap, ...pools.values(), ...collectors.values()]) {
    for (const [key, value] of Object.entries(part)) {
      const isUnlimited = key === 'max' && value === -1;
      // Nothing in 2^57 bytes of address space is larger than 2^53.
      if (value !== undefined && !isUnlimited && !(Number.isSafeInteger(value) && value >= 0)) return `${key} ${value}`;
    }
  }
  for (const usage of [heap, ...pools.values()]) {
    const { used = 0, committed = Number.POSITIVE_INFINITY, max = -1 } = usage;
    const limit = max === -1 ? Number.POSITIVE_INFINITY : max;
    if (used > committed || used > limit || (usage.committed ?? 0) > limit) return JSON.stringify(usage);
  }
  const { loaded = Number.POSITIVE_INFINITY, unloaded = 0 } = classes;
  if (unloaded > loaded) return `${unloaded} of ${loaded} classes unloaded`;
  return [...pools.keys()].find((name) => !/^[A-Z][A-Za-z0-9 '-]{1,60}$/.test(name));
}
