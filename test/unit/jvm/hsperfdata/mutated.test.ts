/** Damaged files: no crash, and never a number that cannot be. */
import { expect, it } from 'vitest';
import { decodeCounters } from '../../../../src/jvm/hsperfdata/counters.ts';
import { computeReading } from '../../../../src/jvm/hsperfdata/formulas.ts';
import type { JvmReading } from '../../../../src/jvm/jvm-source.ts';
import { playsAll } from '../../../support/effort.ts';
import { Random } from '../../../support/fuzz/random.ts';
import { SAMPLES, sampleBytes } from '../../../support/jvm/hsperfdata/samples.ts';

/** Something in the reading that no JVM can have. */
function impossibleIn({ classes, heap, nonHeap, pools, collectors }: JvmReading): string | undefined {
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

const COUNT = playsAll ? 100_000 : 5_000;

it(`reads ${COUNT} damaged files without failing and gives no number that cannot be`, { timeout: 60_000 }, () => {
  const random = new Random(20_240_607);
  const samples = SAMPLES.map((name) => {
    const bytes = sampleBytes(name).subarray(0, sampleBytes(name).readInt32LE(8));
    return { name, bytes, copy: Buffer.from(bytes) };
  });
  let given = 0;
  for (let index = 0; index < COUNT; index += 1) {
    const { name, bytes, copy } = samples[index % samples.length]!;
    // A third of the damage goes to the header and the first counters, where the most depends on it.
    const places = Array.from({ length: 1 + random.below(4) }, () =>
      random.below(random.chance(0.3) ? 96 : bytes.length),
    );
    for (const place of places) {
      const flipped = copy[place]! ^ (1 << random.below(8));
      copy[place] = random.pick([flipped, random.below(256), random.pick([0, 1, 0x7f, 0x80, 0xff])]);
    }
    const end = random.chance(0.1) ? random.below(bytes.length) : bytes.length;
    const result = decodeCounters(copy.subarray(0, end));
    if (result.kind === 'counters') {
      given += 1;
      const impossible = impossibleIn(computeReading(result.counters).reading);
      if (impossible !== undefined) expect.fail(`${name} at ${places.join()} to ${end}: ${impossible}`);
    }
    for (const place of places) copy[place] = bytes[place]!;
  }
  expect(given).toBeGreaterThan(COUNT / 10);
  expect(given).toBeLessThan(COUNT - COUNT / 10);
});
