import type { Clock } from '../base/clock.ts';
import type { ArchiveReader } from '../state/archive/archive-reader.ts';
import type { ArchiveWriter } from '../state/archive/archive-writer.ts';
import {
  createMeter,
  loadMeter,
  METER_LENGTH,
  type MeterSnapshot,
  markMeter,
  meterCount,
  meterCreatedNs,
  readMeter,
  saveMeter,
} from './meter-numbers.ts';

export interface MeterReading {
  readonly count: number;
  snapshot(): MeterSnapshot;
}

/** A single meter; meter-numbers.ts does the arithmetic. */
export class Meter implements MeterReading {
  readonly #clock: Clock;
  readonly #numbers = new Array<number>(METER_LENGTH).fill(Number.NaN);

  constructor(clock: Clock, createdNs: number = clock.nowNs()) {
    this.#clock = clock;
    createMeter(this.#numbers, 0, createdNs);
  }

  get count(): number {
    return meterCount(this.#numbers, 0);
  }

  get createdNs(): number {
    return meterCreatedNs(this.#numbers, 0);
  }

  /** `nowNs`: for callers that have already read the clock. */
  mark(n = 1, nowNs: number = this.#clock.nowNs()): void {
    markMeter(this.#numbers, 0, n, nowNs);
  }

  snapshot(): MeterSnapshot {
    return readMeter(this.#numbers, 0, this.#clock.nowNs());
  }

  save(out: ArchiveWriter): void {
    saveMeter(out, this.#numbers, 0);
  }

  load(input: ArchiveReader, count: number): void {
    loadMeter(input, this.#numbers, 0, count);
  }
}
