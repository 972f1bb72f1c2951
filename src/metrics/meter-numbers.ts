/**
 * Rates as Dropwizard Metrics computes them, bit for bit (class `Meter` with `EWMA`, Apache License 2.0; the averages
 * are those of UNIX load: https://www.teamquest.com/pdfs/whitepaper/ldavg1.pdf). Do not reorder the arithmetic: the
 * vectors in test/fixtures/dropwizard compare all digits. A meter is `METER_LENGTH` numbers in an array of doubles,
 * from index `at`, for the reason given in duration-moments.ts.
 */

import { NS_PER_S } from '../base/clock.ts';
import type { ArchiveReader } from '../state/archive/archive-reader.ts';
import type { ArchiveWriter } from '../state/archive/archive-writer.ts';

const TICK_NS = 5 * NS_PER_S;
const M1_ALPHA = 1 - Math.exp(-5 / 60 / 1);
const M5_ALPHA = 1 - Math.exp(-5 / 60 / 5);
const M15_ALPHA = 1 - Math.exp(-5 / 60 / 15);

/** Monotonic moment; `mean` and the 5 s ticks count from it. */
const CREATED_NS = 0;
const LAST_TICK_NS = 1;
const COUNT = 2;
const UNCOUNTED = 3;
/** Events per nanosecond; all three are NaN before the first tick. */
const M1 = 4;
const M5 = 5;
const M15 = 6;
export const METER_LENGTH = 7;

/** Events per second. `mean` is since the creation; infinite for a marked meter read at its moment of creation. */
export interface MeterSnapshot {
  readonly count: number;
  readonly m1: number;
  readonly m5: number;
  readonly m15: number;
  readonly mean: number;
}

/** The snapshot of any meter that has never been marked. */
export const UNMARKED_SNAPSHOT: MeterSnapshot = { count: 0, m1: 0, m5: 0, m15: 0, mean: 0 };

/** With a `createdNs` in the past the meter reads as if it had existed, unmarked, since then. */
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

/** All but the count, which the owner writes: counts that belong together are written at one moment. */
export function saveMeter(out: ArchiveWriter, numbers: readonly number[], at: number): void {
  out.moment(numbers[at + CREATED_NS] as number);
  out.moment(numbers[at + LAST_TICK_NS] as number);
  out.count(numbers[at + UNCOUNTED] as number);
  out.flag(hasTicked(numbers, at));
  if (!hasTicked(numbers, at)) return;
  for (const rate of [M1, M5, M15]) out.double(numbers[at + rate] as number);
}

/** The time since saving counts as idle: the next access runs its ticks. */
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

/** Ticks lie on a 5 s grid that begins at the creation. They run at the next access. */
function tickIfDue(numbers: number[], at: number, nowNs: number): void {
  const ageNs = nowNs - (numbers[at + LAST_TICK_NS] as number);
  // Not >=: an event at exactly 5 s still belongs to the first interval.
  if (ageNs <= TICK_NS) return;
  numbers[at + LAST_TICK_NS] = nowNs - (ageNs % TICK_NS);
  const idleTicks = Math.floor(ageNs / TICK_NS) - 1;
  const rate = (numbers[at + UNCOUNTED] as number) / TICK_NS;
  numbers[at + UNCOUNTED] = 0;
  tick(numbers, at + M1, M1_ALPHA, rate, idleTicks);
  tick(numbers, at + M5, M5_ALPHA, rate, idleTicks);
  tick(numbers, at + M15, M15_ALPHA, rate, idleTicks);
}

/** One tick with events, then ticks without. The very first takes the rate as it is. */
function tick(numbers: number[], index: number, alpha: number, rate: number, idleTicks: number): void {
  const before = numbers[index] as number;
  const after = Number.isNaN(before) ? rate : before + alpha * (rate - before);
  numbers[index] = decayed(after, alpha, idleTicks);
}

/**
 * `rate` after `ticks` ticks without events. Each tick is computed, because a power would differ in the last digits.
 * The loop stops when a tick no longer changes the rate (0, or a denormal near 1e-313). m15 gets there from 1 event/ns
 * within 140,000 ticks: under a millisecond, however long the idle time.
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
