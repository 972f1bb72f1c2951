/** What users experienced with one kind of call in one phase. Times in ms. */
export interface CallSummary {
  readonly count: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly worstMs: number;
}

/** By kind of call, then by phase. */
export type Summaries = Readonly<Record<string, Readonly<Record<string, CallSummary>>>>;

interface Calls {
  readonly tookMs: number[];
  failed: number;
}

/** Calls by kind and by the phase in which they were due. */
export class CallLog {
  readonly #kinds = new Map<string, Map<string, Calls>>();

  /** A failed call counts with the time that its user waited in vain. */
  add(
    kind: string,
    phase: string,
    { tookMs, isFailed }: { readonly tookMs: number; readonly isFailed: boolean },
  ): void {
    const phases = this.#kinds.get(kind) ?? new Map<string, Calls>();
    const calls = phases.get(phase) ?? { tookMs: [], failed: 0 };
    calls.tookMs.push(tookMs);
    if (isFailed) calls.failed += 1;
    this.#kinds.set(kind, phases.set(phase, calls));
  }

  summaries(): Summaries {
    const toRecord = (phases: Map<string, Calls>) =>
      Object.fromEntries([...phases].map(([phase, calls]) => [phase, summarise(calls)]));
    return Object.fromEntries([...this.#kinds].map(([kind, phases]) => [kind, toRecord(phases)]));
  }
}

function summarise({ tookMs, failed }: Calls): CallSummary {
  const sorted = [...tookMs].sort((a, b) => a - b);
  return { count: sorted.length, failed, p50Ms: sorted[sorted.length >> 1] ?? 0, worstMs: sorted.at(-1) ?? 0 };
}
