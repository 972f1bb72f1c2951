import type { CallCountsReading } from '../../metrics/call-counts.ts';
import { doubled, moveRow } from './spark-lines.ts';

export const STEPS_PER_MINUTE = 12;

/** The name with the most failed calls in the last minute, e.g. `{ name: 'E.Demo.Run', failed: 71, ended: 143 }`. */
export interface WorstCall {
  readonly name: string;
  /** The `errors` of `CallCounts`: answers with status 500 and above are among them. */
  readonly failed: number;
  /** All calls of the name that ended in the minute, including failed ones. */
  readonly ended: number;
}

type Counts = Pick<CallCountsReading, 'row' | 'ok' | 'clientErrors' | 'errors'>;

const FIRST_ROWS = 16;
const MAX_PER_STEP = 0xffff;

/** Ended and failed calls of each name in each of the last 12 steps. Takes 56 bytes for each name. */
export class MinuteCalls {
  readonly #counts: ReadonlyMap<string, Counts>;
  /** `STEPS_PER_MINUTE` numbers for each row. Over 65,535 calls of one name in a step count as 65,535. */
  #ended = new Uint16Array(FIRST_ROWS * STEPS_PER_MINUTE);
  #failed = new Uint16Array(FIRST_ROWS * STEPS_PER_MINUTE);
  /** Totals at the last step, modulo 2^32. */
  #endedTotals = new Uint32Array(FIRST_ROWS);
  #failedTotals = new Uint32Array(FIRST_ROWS);
  #next = 0;
  #worst: WorstCall | undefined;

  /** Calls that `counts` already holds, e.g. restored ones, count in no step. */
  constructor(counts: ReadonlyMap<string, Counts>) {
    this.#counts = counts;
    for (const { row, ok, clientErrors, errors } of counts.values()) {
      if (row < 0) continue;
      this.#reserve(row);
      this.#endedTotals[row] = ok + clientErrors + errors;
      this.#failedTotals[row] = errors;
    }
  }

  /** For the last 12 steps; undefined if no call with a name failed. */
  get worst(): WorstCall | undefined {
    return this.#worst;
  }

  /** Ends a step for all names. */
  take(): void {
    const at = this.#next;
    let worst: WorstCall | undefined;
    for (const [name, { row, ok, clientErrors, errors }] of this.#counts) {
      // Calls without a name.
      if (row < 0) continue;
      this.#reserve(row);
      const place = row * STEPS_PER_MINUTE + at;
      this.#ended[place] = take(this.#endedTotals, row, ok + clientErrors + errors);
      this.#failed[place] = take(this.#failedTotals, row, errors);
      const failed = errors === 0 ? 0 : sumOf(this.#failed, row);
      if (failed > (worst?.failed ?? 0)) worst = { name, failed, ended: sumOf(this.#ended, row) };
    }
    this.#worst = worst;
    this.#next = (at + 1) % STEPS_PER_MINUTE;
  }

  /** The counts of a name have moved to another; its row is free. */
  fold(row: number, into: number): void {
    this.#reserve(Math.max(row, into));
    for (const steps of [this.#ended, this.#failed]) moveRow(steps, STEPS_PER_MINUTE, row, into);
    for (const totals of [this.#endedTotals, this.#failedTotals]) moveRow(totals, 1, row, into);
  }

  #reserve(row: number): void {
    while (row >= this.#endedTotals.length) {
      this.#ended = doubled(this.#ended, new Uint16Array(this.#ended.length * 2));
      this.#failed = doubled(this.#failed, new Uint16Array(this.#failed.length * 2));
      this.#endedTotals = doubled(this.#endedTotals, new Uint32Array(this.#endedTotals.length * 2));
      this.#failedTotals = doubled(this.#failedTotals, new Uint32Array(this.#failedTotals.length * 2));
    }
  }
}

function take(totals: Uint32Array, row: number, total: number): number {
  const added = (total - (totals[row] as number)) >>> 0;
  totals[row] = total;
  return Math.min(added, MAX_PER_STEP);
}

function sumOf(steps: Uint16Array, row: number): number {
  let sum = 0;
  for (let i = 0; i < STEPS_PER_MINUTE; i += 1) sum += steps[row * STEPS_PER_MINUTE + i] as number;
  return sum;
}
