/**
 * Rates as Dropwizard Metrics computes them, bit for bit (class `Meter` with `EWMA`, Apache License 2.0; the averages are
 * those of UNIX load: https://www.teamquest.com/pdfs/whitepaper/ldavg1.pdf). Do not reorder the arithmetic: the vectors in
 * test/fixtures/dropwizard compare all digits.
 *
 * A meter is `METER_LENGTH` numbers of an array of doubles, from `at` on, for the reason that duration-moments.ts gives.
 */

import { NS_PER_S } from '../base/clock.ts';
import type { ArchiveReader } from '../state/archive/archive-reader.ts';
import type { ArchiveWriter } from '../state/archive/archive-writer.ts';

const TICK_NS = 5 * NS_PER_S;
const M1_ALPHA = 1 - Math.exp(-5 / 60 / 1);
const M5_ALPHA = 1 - Math.exp(-5 / 60 / 5);
const M15_ALPHA = 1 - Math.exp(-5 / 60 / 15);

/** Monotonic moment that `mean` and the 5 s ticks count from. */
const CREATED_NS = 0;
const LAST_TICK_NS = 1;
const COUNT = 2;
const UNCOUNTED = 3;
/** Events for each nanosecond; all three NaN before the first tick. */
const M1 = 4;
const M5 = 5;
const M15 = 6;
export const METER_LENGTH = 7;

/** Rates in events for each second; `mean` is since the meter's creation and infinite if read in the moment of the creation. */
export interface MeterSnapshot {
  readonly count: number;
  readonly m1: number;
  readonly m5: number;
  readonly m15: number;
  readonly mean: number;
}

/** What a meter reads that nobody has marked yet, whenever it was created. */
export const UNMARKED_SNAPSHOT: MeterSnapshot = { count: 0, m1: 0, m5: 0, m15: 0, mean: 0 };

/** `createdNs` in the past makes a meter that reads as if it had been there, unmarked, since then. */
export function createMeter(numbers: number[], at: number, createdNs: number): void {
  numbers[at + CREATED_NS] = createdNs;
  numbers[at + LAST_TICK_NS] = createdNs;
  numbers[at + COUNT] = 0;
  numbers[at + UNCOUNTED] = 0;
  numbers[at + M1] = Number.NaN;
  numbers[at + M5] = Number.NaN;
  numbers[at + M15] = Number.NaN;
}

export function meterCount(numbers: readonly number[], at: number): number {
  return numbers[at + COUNT] as number;
}

export function meterCreatedNs(numbers: readonly number[], at: number): number {
  return numbers[at + CREATED_NS] as number;
}

export function markMeter(numbers: number[], at: number, n: number, nowNs: number): void {
  tickIfDue(numbers, at, nowNs);
  numbers[at + COUNT] = (numbers[at + COUNT] as number) + n;
  numbers[at + UNCOUNTED] = (numbers[at + UNCOUNTED] as number) + n;
}

export function readMeter(numbers: number[], at: number, nowNs: number): MeterSnapshot {
  tickIfDue(numbers, at, nowNs);
  const count = numbers[at + COUNT] as number;
  const ageNs = nowNs - (numbers[at + CREATED_NS] as number);
  const ticked = hasTicked(numbers, at);
  return {
    count,
    m1: ticked ? (numbers[at + M1] as number) * NS_PER_S : 0,
    m5: ticked ? (numbers[at + M5] as number) * NS_PER_S : 0,
    m15: ticked ? (numbers[at + M15] as number) * NS_PER_S : 0,
    mean: count === 0 ? 0 : (count / ageNs) * NS_PER_S,
  };
}

/** All but the count, which is its owner's to write: counts that belong together are written at one moment. */
export function saveMeter(out: ArchiveWriter, numbers: readonly number[], at: number): void {
  out.moment(numbers[at + CREATED_NS] as number);
  out.moment(numbers[at + LAST_TICK_NS] as number);
  out.count(numbers[at + UNCOUNTED] as number);
  out.flag(hasTicked(numbers, at));
  if (!hasTicked(numbers, at)) return;
  for (const rate of [M1, M5, M15]) out.double(numbers[at + rate] as number);
}

/** Becomes the meter that was saved. The time since then was idle: its ticks are run at the next access. */
export function loadMeter(input: ArchiveReader, numbers: number[], at: number, count: number): void {
  createMeter(numbers, at, input.moment());
  numbers[at + LAST_TICK_NS] = input.moment();
  numbers[at + COUNT] = count;
  numbers[at + UNCOUNTED] = input.count();
  if (!input.flag()) return;
  for (const rate of [M1, M5, M15]) numbers[at + rate] = input.double();
}

function hasTicked(numbers: readonly number[], at: number): boolean {
  return !Number.isNaN(numbers[at + M1]);
}

/** Ticks lie on the 5 s grid from the creation, but are run at the first access after them. */
function tickIfDue(numbers: number[], at: number, nowNs: number): void {
  const ageNs = nowNs - (numbers[at + LAST_TICK_NS] as number);
  // Strictly: an event at exactly 5 s still belongs to the first interval.
  if (ageNs <= TICK_NS) return;
  numbers[at + LAST_TICK_NS] = nowNs - (ageNs % TICK_NS);
  const idleTicks = Math.floor(ageNs / TICK_NS) - 1;
  const rate = (numbers[at + UNCOUNTED] as number) / TICK_NS;
  numbers[at + UNCOUNTED] = 0;
  tick(numbers, at + M1, M1_ALPHA, rate, idleTicks);
  tick(numbers, at + M5, M5_ALPHA, rate, idleTicks);
  tick(numbers, at + M15, M15_ALPHA, rate, idleTicks);
}

/** One tick with events, then ticks without. The first of all takes the rate as it is. */
function tick(numbers: number[], index: number, alpha: number, rate: number, idleTicks: number): void {
  const before = numbers[index] as number;
  const after = Number.isNaN(before) ? rate : before + alpha * (rate - before);
  numbers[index] = decayed(after, alpha, idleTicks);
}

/**
 * `rate` after `ticks` ticks without events. Each tick is computed, since a power would differ in the last digits; but a rate
 * that a tick no longer changes (0, or a denormal near 1e-313) stays for ever, and m15 gets there from 1 event/ns within
 * 140,000 ticks: under a millisecond however long the idleness.
 */
function decayed(rate: number, alpha: number, ticks: number): number {
  let current = rate;
  for (let left = ticks; left > 0; left -= 1) {
    const next = current + alpha * (0 - current);
    if (next === current) break;
    current = next;
  }
  return current;
}
