import type { JvmState } from '../../jvm/jvm-monitor.ts';
import type { JvmReading } from '../../jvm/jvm-source.ts';
import { sumOf } from './steps.ts';

export type JvmPoint = Readonly<ReturnType<JvmHistory['sample']>>;

/** Collectors that count concurrent work, not pauses. */
const CONCURRENT = /^ZGC$| Cycles$/;

export class JvmHistory {
  /** Sum of the last reading; undefined without one, or if it did not include pauses. */
  #pausesMs: number | undefined;

  /** Bytes, and milliseconds of the step; null when unknown. */
  sample(state: JvmState) {
    const { server, reading } = state.kind === 'available' ? state : {};
    const before = this.#pausesMs;
    const pauses = Array.from(reading?.collectors ?? []).filter(([name]) => !CONCURRENT.test(name));
    const now = sumOfKnown(pauses.map(([, { timeMs }]) => timeMs));
    this.#pausesMs = now;
    return {
      heapUsed: (reading?.memory === 'live' ? reading.heap.used : undefined) ?? null,
      /** Sum of each heap pool's use after its last collection. */
      heapAfterGc: (reading && heapAfterGc(reading)) ?? null,
      /** Covers only the readings that arrived in the step. A smaller sum than before comes from a new JVM. */
      gcPauseMs: before === undefined || now === undefined ? null : now - (now < before ? 0 : before),
      busyThreads: server?.connector?.busyThreads ?? null,
      cores: server?.cores ?? null,
    };
  }
}

/** Some sources know only the heap after the last collection. */
function heapAfterGc({ pools, heap, memory }: JvmReading): number | undefined {
  const ofPools = sumOfKnown(Array.from(pools.values(), ({ usedAfterGc }) => usedAfterGc));
  return ofPools ?? (memory === 'after-gc' ? heap.used : undefined);
}

function sumOfKnown(numbers: readonly (number | undefined)[]): number | undefined {
  const known = numbers.filter((number) => number !== undefined);
  return known.length === 0 ? undefined : sumOf(known);
}
