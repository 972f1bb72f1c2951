import { medianOf } from '../../bench/load/statistics.ts';

/** What users experienced with one kind of call in one phase. Times in ms. */
export interface CallSummary {
  readonly count: number;
  readonly failed: number;
  readonly p50Ms: number;
  /** The lowest median of any quarter of the calls: a burst is in some of them, a lasting delay in all. */
  readonly steadyMs: number;
  readonly worstMs: number;
}

export type Summaries = Record<string, Record<string, CallSummary>>;

interface Calls {
  readonly kind: string;
  readonly phase: string;
  readonly tookMs: number[];
  failed: number;
}

export class CallLog {
  readonly #all = new Map<string, Calls>();

  /** A failed call counts with the time that its user waited in vain. */
  add(kind: string, phase: string, tookMs: number, isFailed: boolean): void {
    const key = `${kind} ${phase}`;
    const calls = this.#all.get(key) ?? { kind, phase, tookMs: [], failed: 0 };
    calls.tookMs.push(tookMs);
    calls.failed += Number(isFailed);
    this.#all.set(key, calls);
  }

  summaries(): Summaries {
    const summaries: Summaries = {};
    for (const { kind, phase, tookMs, failed } of this.#all.values()) {
      const count = tookMs.length;
      const quarters = [0, 1, 2, 3].map((nth) => tookMs.slice((nth * count) / 4, ((nth + 1) * count) / 4));
      const steadyMs = Math.min(...quarters.filter((quarter) => quarter.length > 0).map(medianOf));
      const figures = { p50Ms: medianOf(tookMs), steadyMs, worstMs: Math.max(...tookMs) };
      summaries[kind] = { ...summaries[kind], [phase]: { count, failed, ...figures } };
    }
    return summaries;
  }
}
