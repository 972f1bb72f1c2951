/**
 * A source's gauges against the MXBeans read just before and just after it. Counts, times and maxima must lie between
 * the two readings of the beans, which are equal in a quiet moment. Other memory may differ by 2 %.
 */
import type { JvmSource } from '../../../../src/jvm/jvm-source.ts';
import { gaugesOf } from '../http/sources.ts';
import { type Beans, expectedGauges, type Gauges } from './beans.ts';

const MEMORY_TOLERANCE = 0.02;
/** Generous: on a busy machine a reading may wait for the JVM's own threads. */
const READ_TIMEOUT_MS = 5_000;

/** A gauge that differs from the beans. */
export type Deviation =
  | { readonly kind: 'missing'; readonly gauge: string }
  | { readonly kind: 'unexpected'; readonly gauge: string; readonly value: number }
  | {
      readonly kind: 'differs';
      readonly gauge: string;
      readonly value: number;
      readonly low: number;
      readonly high: number;
      /** `value` minus the nearer of the two readings; bytes, or a share for `usage`. */
      readonly difference: number;
    };

/** A reading between two of the beans, and where it differs from them. */
export async function compare(source: JvmSource, beans: () => Promise<Beans>) {
  const before = await beans();
  const reading = await source.read(AbortSignal.timeout(READ_TIMEOUT_MS));
  return { before, reading, found: deviations(before, gaugesOf(reading), await beans()) };
}

export function deviations(before: Beans, gauges: Gauges, after: Beans): Deviation[] {
  const [first, second] = [expectedGauges(before), expectedGauges(after)];
  const found: Deviation[] = [];
  for (const [gauge, a] of first) {
    const value = gauges.get(gauge);
    const b = second.get(gauge) ?? a;
    if (value === undefined) found.push({ kind: 'missing', gauge });
    else if (!isWithin(gauge, value, a, b)) found.push(differing(gauge, value, a, b));
  }
  for (const [gauge, value] of gauges) {
    if (!first.has(gauge)) found.push({ kind: 'unexpected', gauge, value });
  }
  return found;
}

function isWithin(gauge: string, value: number, a: number, b: number): boolean {
  if (Number.isNaN(value)) return Number.isNaN(a) || Number.isNaN(b);
  const tolerance = isExact(gauge) ? 0 : Math.max(a, b) * MEMORY_TOLERANCE;
  return value >= Math.min(a, b) - tolerance && value <= Math.max(a, b) + tolerance;
}

function isExact(gauge: string): boolean {
  return gauge.endsWith('.max') || !gauge.startsWith('jvm.memory.');
}

function differing(gauge: string, value: number, a: number, b: number): Deviation {
  const [low, high] = [Math.min(a, b), Math.max(a, b)];
  return { kind: 'differs', gauge, value, low, high, difference: value < low ? value - low : value - high };
}
