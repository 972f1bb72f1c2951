/**
 * Damaged files. Damage to the structure, the names, the kinds or the header must never change a number that is given: it may
 * only go missing. Damage to a value itself cannot be seen as such, but what cannot be is never given.
 */
import { expect, it } from 'vitest';
import { decodeCounters } from '../../../../src/jvm/hsperfdata/counters.ts';
import { parseLayout } from '../../../../src/jvm/hsperfdata/entries.ts';
import { computeReading } from '../../../../src/jvm/hsperfdata/formulas.ts';
import type { JvmReading } from '../../../../src/jvm/jvm-source.ts';
import { playsAll } from '../../../support/effort.ts';
import { Random } from '../../../support/fuzz/random.ts';
import { SAMPLES, sampleBytes } from '../../../support/jvm/hsperfdata/samples.ts';

type Values = ReadonlyMap<string, number>;

type Sample = (typeof samples)[number];

const samples = SAMPLES.map((name) => {
  const bytes = sampleBytes(name).subarray(0, sampleBytes(name).readInt32LE(8));
  const layout = parseLayout(bytes);
  const result = decodeCounters(bytes);
  if (layout.kind !== 'layout' || result.kind !== 'counters') throw new Error(name);
  const { numbers, texts } = result.counters;
  const wanted = layout.entries.filter((entry) => numbers.has(entry.name) || texts.has(entry.name));
  // 1 where a value lies that this program takes its numbers from.
  const isValue = new Uint8Array(bytes.length);
  for (const { dataOffset, dataBytes } of wanted) isValue.fill(1, dataOffset, dataOffset + dataBytes);
  const raw = computeReading({ ...result.counters, texts: new Map([...texts, ['sun.gc.policy.name', 'none']]) });
  // All that may be given: by the formulas, or raw under the collector's own name.
  const allowed: Values = new Map([...valuesOf(raw.reading), ...valuesOf(computeReading(result.counters).reading)]);
  return { name, bytes, copy: Buffer.from(bytes), isValue, allowed };
});

function valuesOf({ classes, heap, nonHeap, pools, collectors }: JvmReading): Values {
  const parts: [string, object][] = [...Object.entries({ classes, heap, nonHeap }), ...pools, ...collectors];
  return new Map(
    parts.flatMap(([prefix, part]) =>
      Object.entries(part as Readonly<Record<string, number | undefined>>)
        .filter((entry): entry is [string, number] => entry[1] !== undefined)
        .map(([key, value]) => [`${prefix}.${key}`, value] as const),
    ),
  );
}

/** Whether there was a reading, so that a test sees that not all files were refused. */
function isGiven({ allowed }: Sample, mutated: Buffer, isStructure: boolean, what: string): boolean {
  const result = decodeCounters(mutated);
  if (result.kind !== 'counters') return false;
  const { reading } = computeReading(result.counters);
  const impossible = impossibleIn(reading);
  if (impossible !== undefined) expect.fail(`${what}: ${impossible}`);
  for (const [key, value] of isStructure ? valuesOf(reading) : []) {
    if (allowed.get(key) !== value) expect.fail(`${what}: ${key} is ${value}, not ${allowed.get(key)}`);
  }
  return true;
}

const COUNT = playsAll ? 100_000 : 5_000;

it(`reads ${COUNT} damaged files without failing and gives no number that damage could have made`, () => {
  const random = new Random(20_240_607);
  let given = 0;
  for (let index = 0; index < COUNT; index += 1) {
    const sample = samples[index % samples.length]!;
    const { name, bytes, copy, isValue } = sample;
    // A third of the damage goes to the header and the first counters, where the most depends on it.
    const places = Array.from({ length: 1 + random.below(4) }, () =>
      random.below(random.chance(0.3) ? 96 : bytes.length),
    );
    for (const place of places) {
      const flipped = copy[place]! ^ (1 << random.below(8));
      copy[place] = random.pick([flipped, random.below(256), random.pick([0, 1, 0x7f, 0x80, 0xff])]);
    }
    const end = random.chance(0.1) ? random.below(bytes.length) : bytes.length;
    const isStructure = places.every((place) => isValue[place] === 0);
    if (isGiven(sample, copy.subarray(0, end), isStructure, `${name} at ${places.join()} to ${end}`)) given += 1;
    for (const place of places) copy[place] = bytes[place]!;
  }
  expect(given).toBeGreaterThan(COUNT / 10);
  expect(given).toBeLessThan(COUNT - COUNT / 10);
}, 60_000);

it('reads a file with any value in any byte of its header', () => {
  let given = 0;
  for (const sample of samples) {
    const { name, bytes, copy } = sample;
    for (let place = 0; place < 32; place += 1) {
      // Only the minor version, the bytes that did not fit and the time of the last change say nothing of what follows.
      const isFree = place === 6 || (place >= 12 && place < 24);
      for (let value = 0; value < 256; value += isFree ? 17 : playsAll ? 1 : 3) {
        copy[place] = value;
        if (!isGiven(sample, copy, true, `${name}: ${value} at ${place}`)) continue;
        given += 1;
        if (!isFree) expect(value, `byte ${place}`).toBe(bytes[place]);
      }
      copy[place] = bytes[place]!;
    }
  }
  expect(given).toBeGreaterThan(0);
}, 60_000);

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
