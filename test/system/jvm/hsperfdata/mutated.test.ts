/**
 * Damaged files. Damage to the structure, the names, the kinds or the header must never change a number that is given: it may
 * only go missing. Damage to a value itself cannot be seen as such, but what cannot be is never given.
 */
import { expect, it } from 'vitest';
import { toCounters } from '../../../../src/jvm/hsperfdata/counters.ts';
import { toLayout } from '../../../../src/jvm/hsperfdata/entries.ts';
import { toReading } from '../../../../src/jvm/hsperfdata/formulas.ts';
import type { JvmReading } from '../../../../src/jvm/jvm-reading.ts';
import { playsAll } from '../../../support/effort.ts';
import { SAMPLES, sampleBytes } from '../../../support/jvm/hsperfdata/samples.ts';

interface Sample {
  readonly name: string;
  readonly bytes: Buffer;
  readonly used: number;
  /** 1 where a value lies that this program takes its numbers from. */
  readonly isValue: Uint8Array;
  /** All that may be given: by the formulas, or raw under the collector's own name. */
  readonly allowed: ReadonlyMap<string, number>;
}

const samples: readonly Sample[] = SAMPLES.map((name) => {
  const bytes = sampleBytes(name);
  const used = bytes.readInt32LE(8);
  const layout = toLayout(bytes);
  const result = toCounters(bytes);
  if (layout.kind !== 'layout' || result.kind !== 'counters') throw new Error(name);
  const isValue = new Uint8Array(used);
  const { numbers, texts } = result.counters;
  for (const entry of layout.layout.entries) {
    if (!numbers.has(entry.name) && !texts.has(entry.name)) continue;
    isValue.fill(1, entry.dataOffset, entry.dataOffset + entry.dataBytes);
  }
  const raw = toReading({ ...result.counters, texts: new Map([...texts, ['sun.gc.policy.name', 'none']]) });
  const allowed = new Map([...valuesOf(raw.reading), ...valuesOf(toReading(result.counters).reading)]);
  return { name, bytes, used, isValue, allowed };
});

function valuesOf({ classes, heap, nonHeap, pools, collectors }: JvmReading): Map<string, number> {
  const values = new Map<string, number>();
  const put = (prefix: string, object: object) => {
    for (const [key, value] of Object.entries(object)) {
      if (value !== undefined) values.set(`${prefix}.${key}`, value as number);
    }
  };
  put('classes', classes);
  put('heap', heap);
  put('nonHeap', nonHeap);
  for (const [name, pool] of pools) put(name, pool);
  for (const [name, collector] of collectors) put(name, collector);
  return values;
}

/** Never rejected: a number that cannot be. */
function expectPlausible(reading: JvmReading, what: string): void {
  for (const [key, value] of valuesOf(reading)) {
    const isFine = Number.isSafeInteger(value) && (value >= 0 || (value === -1 && key.endsWith('.max')));
    if (!isFine) expect.fail(`${what}: ${key} is ${value}`);
  }
  for (const { used = 0, committed = Infinity, max = -1 } of [reading.heap, ...reading.pools.values()]) {
    if (used > committed || (max !== -1 && used > max)) expect.fail(`${what}: uses ${used} of ${committed}, ${max}`);
  }
  const { loaded = Infinity, unloaded = 0 } = reading.classes;
  if (unloaded > loaded) expect.fail(`${what}: ${unloaded} of ${loaded} classes unloaded`);
}

/** How many readings came out of it is returned, so that a test sees that not all were refused. */
function check(sample: Sample, mutated: Buffer, isStructure: boolean, what: string): 'given' | 'refused' {
  const result = toCounters(mutated);
  if (result.kind !== 'counters') return 'refused';
  const { reading } = toReading(result.counters);
  expectPlausible(reading, what);
  if (!isStructure) return 'given';
  for (const [key, value] of valuesOf(reading)) {
    if (sample.allowed.get(key) !== value) expect.fail(`${what}: ${key} is ${value}, not ${sample.allowed.get(key)}`);
  }
  return 'given';
}

/** mulberry32: small, seeded, good enough to spread damage. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const COUNT = playsAll ? 100_000 : 5_000;
/** Of the bits and values of a byte, every how many is tried: all, or some of each byte. */
const STEP = playsAll ? 1 : 3;

it(`reads ${COUNT} damaged files without failing and gives no number that damage could have made`, () => {
  const next = random(20_240_607);
  const below = (limit: number) => Math.floor(next() * limit);
  const outcomes = { given: 0, refused: 0 };
  const scratch = samples.map(({ bytes, used }) => Buffer.from(bytes.subarray(0, used)));
  for (let index = 0; index < COUNT; index += 1) {
    const which = index % samples.length;
    const sample = samples[which]!;
    const mutated = scratch[which]!;
    const places: number[] = [];
    let isStructure = true;
    for (let times = 1 + below(4); times > 0; times -= 1) {
      // A third of the damage goes to the header and the first counters, where the most depends on it.
      const place = below(next() < 0.3 ? 96 : sample.used);
      const old = mutated[place]!;
      const kind = below(3);
      mutated[place] =
        kind === 0 ? old ^ (1 << below(8)) : kind === 1 ? below(256) : [0, 1, 0x7f, 0x80, 0xff][below(5)]!;
      places.push(place);
      isStructure &&= sample.isValue[place] === 0;
    }
    // One in ten is cut, too.
    const end = next() < 0.1 ? below(sample.used) : sample.used;
    outcomes[check(sample, mutated.subarray(0, end), isStructure, `${sample.name} at ${places.join(',')} to ${end}`)] +=
      1;
    for (const place of places) mutated[place] = sample.bytes[place]!;
  }
  expect(outcomes.given).toBeGreaterThan(COUNT / 10);
  expect(outcomes.refused).toBeGreaterThan(COUNT / 10);
}, 60_000);

it('reads a file with any value in any byte of its header', () => {
  const outcomes = { given: 0, refused: 0 };
  for (const sample of samples) {
    const mutated = Buffer.from(sample.bytes.subarray(0, sample.used));
    for (let place = 0; place < 32; place += 1) {
      // Only the minor version, the bytes that did not fit and the time of the last change say nothing of what follows.
      const isFree = place === 6 || (place >= 12 && place < 24);
      for (let value = 0; value < 256; value += isFree ? 17 : STEP) {
        mutated[place] = value;
        const outcome = check(sample, mutated, true, `${sample.name}: ${value} at ${place}`);
        outcomes[outcome] += 1;
        if (outcome === 'given' && !isFree) expect(value, `byte ${place}`).toBe(sample.bytes[place]);
      }
      mutated[place] = sample.bytes[place]!;
    }
  }
  expect(outcomes.given).toBeGreaterThan(0);
}, 60_000);

it('reads a file with any bit of the wanted counters’ heads and names flipped', () => {
  const sample = samples[2]!;
  const mutated = Buffer.from(sample.bytes.subarray(0, sample.used));
  const layout = toLayout(sample.bytes);
  if (layout.kind !== 'layout') throw new Error('not a sample');
  const wanted = layout.layout.entries.filter(({ dataOffset }) => sample.isValue[dataOffset] === 1);
  let given = 0;
  for (const { dataOffset, name } of wanted) {
    const start = sample.bytes.lastIndexOf(`${name}\0`, dataOffset, 'latin1') - 20;
    for (let place = start; place < dataOffset; place += 1) {
      for (let bit = place % STEP; bit < 8; bit += STEP) {
        mutated[place]! ^= 1 << bit;
        if (check(sample, mutated, true, `${name}: bit ${bit} at ${place - start}`) === 'given') given += 1;
        mutated[place]! ^= 1 << bit;
      }
    }
  }
  expect(wanted.length).toBeGreaterThan(40);
  expect(given).toBeGreaterThan(1000 / STEP);
}, 60_000);

it('returns no impossible number for any flipped bit of a value', () => {
  for (const sample of samples) {
    const mutated = Buffer.from(sample.bytes.subarray(0, sample.used));
    for (let place = 0; place < sample.used; place += 1) {
      if (sample.isValue[place] === 0) continue;
      const bit = 1 << (place % 8);
      mutated[place]! ^= bit;
      check(sample, mutated, false, `${sample.name} at ${place}`);
      mutated[place]! ^= bit;
    }
  }
}, 60_000);
