import type { JvmState } from '../../jvm/jvm-monitor.ts';
import type { JvmReading } from '../../jvm/jvm-reading.ts';
import { type Columns, createColumns, valueAt } from './columns.ts';

/** Bytes, and milliseconds of the step; null when unknown. */
export interface JvmPoint {
  readonly heapUsed: number | null;
  /** Sum of each heap pool's use after its last collection. */
  readonly heapAfterGc: number | null;
  /** Covers only the readings that arrived in the step. */
  readonly gcPauseMs: number | null;
  /** Busy request threads of the connector. */
  readonly busyThreads: number | null;
  /** Cores that the server's process used. */
  readonly cores: number | null;
}

/** Collectors that count concurrent work, not pauses. */
const CONCURRENT = /^ZGC$| Cycles$/;

export class JvmHistory {
  readonly #columns: Columns<keyof JvmPoint> = createColumns([
    'heapUsed',
    'heapAfterGc',
    'gcPauseMs',
    'busyThreads',
    'cores',
  ]);
  /** Sum of the last reading; undefined without one, or if it did not include pauses. */
  #pausesMs: number | undefined;

  sample(place: number, state: JvmState): void {
    const { heapUsed, heapAfterGc, gcPauseMs, busyThreads, cores } = this.#columns;
    const server = state.kind === 'available' ? state.server : undefined;
    busyThreads[place] = server?.connector?.busyThreads ?? Number.NaN;
    cores[place] = server?.cores ?? Number.NaN;
    const reading = state.kind === 'available' ? state.reading : undefined;
    const pausesMs = reading && sumOfPauses(reading);
    const before = this.#pausesMs;
    this.#pausesMs = pausesMs;
    heapUsed[place] = reading?.memory === 'live' ? (reading.heap.used ?? Number.NaN) : Number.NaN;
    heapAfterGc[place] = (reading && toHeapAfterGc(reading)) ?? Number.NaN;
    // A smaller sum than before comes from a new JVM, so all of it is new.
    if (pausesMs === undefined || before === undefined) gcPauseMs[place] = Number.NaN;
    else gcPauseMs[place] = pausesMs < before ? pausesMs : pausesMs - before;
  }

  /** Milliseconds that collectors took in these steps; null if unknown. */
  pausesMs(places: readonly number[]): number | null {
    const known = places.map((place) => valueAt(this.#columns.gcPauseMs, place)).filter((pause) => pause !== null);
    return known.length === 0 ? null : known.reduce((sum, pause) => sum + pause, 0);
  }

  at(place: number): JvmPoint {
    const { heapUsed, heapAfterGc, gcPauseMs, busyThreads, cores } = this.#columns;
    return {
      heapUsed: valueAt(heapUsed, place),
      heapAfterGc: valueAt(heapAfterGc, place),
      gcPauseMs: valueAt(gcPauseMs, place),
      busyThreads: valueAt(busyThreads, place),
      cores: valueAt(cores, place),
    };
  }
}

function sumOfPauses({ collectors }: JvmReading): number | undefined {
  const times = Array.from(collectors, ([name, { timeMs }]) => (CONCURRENT.test(name) ? undefined : timeMs));
  return sumOf(times);
}

function toHeapAfterGc({ pools, heap, memory }: JvmReading): number | undefined {
  return sumOf(Array.from(pools.values(), ({ usedAfterGc }) => usedAfterGc)) ?? afterGc(memory, heap.used);
}

/** Some sources know only the heap after the last collection. */
function afterGc(memory: JvmReading['memory'], used: number | undefined): number | undefined {
  return memory === 'after-gc' ? used : undefined;
}

function sumOf(numbers: readonly (number | undefined)[]): number | undefined {
  const known = numbers.filter((number) => number !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, number) => sum + number, 0);
}
