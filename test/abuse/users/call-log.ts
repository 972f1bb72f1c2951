/** What users experienced with one kind of call in one phase. Times in ms. */
export interface CallSummary {
  readonly count: number;
  readonly failed: number;
  readonly p50Ms: number;
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
      const sorted = [...tookMs].sort((a, b) => a - b);
      const [p50Ms = 0, worstMs = 0] = [sorted[sorted.length >> 1], sorted.at(-1)];
      summaries[kind] = { ...summaries[kind], [phase]: { count: sorted.length, failed, p50Ms, worstMs } };
    }
    return summaries;
  }
}
