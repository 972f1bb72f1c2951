import type { CallCountsReading } from '../../metrics/call-counts.ts';

export const STEPS_PER_MINUTE = 12;

/** The name with the most failed calls in the last minute, e.g. `{ name: 'E.Demo.Run', failed: 71, ended: 143 }`. */
export interface WorstCall {
  readonly name: string;
  /** The `errors` of `CallCounts`: answers with status 500 and above are among them. */
  readonly failed: number;
  /** All calls of the name that ended in the minute, including failed ones. */
  readonly ended: number;
}

type Counts = Pick<CallCountsReading, 'ok' | 'clientErrors' | 'errors'>;

const FIRST_ROWS = 16;
const MAX_PER_STEP = 0xffff;

/**
 * Ended and failed calls of each name in each of the last 12 steps. Names come in order of admission and are never
 * removed, so the position of a name is its row. Takes 56 bytes for each name.
 */
export class MinuteCalls {
  readonly #counts: ReadonlyMap<string, Counts>;
  /** `STEPS_PER_MINUTE` numbers for each row. Over 65,535 calls of one name in a step count as 65,535. */
  #ended = new Uint16Array(FIRST_ROWS * STEPS_PER_MINUTE);
  #failed = new Uint16Array(FIRST_ROWS * STEPS_PER_MINUTE);
  /** Totals at the last step, modulo 2^32. */
  #endedTotals = new Uint32Array(FIRST_ROWS);
  #failedTotals = new Uint32Array(FIRST_ROWS);
  #rows = 0;
  #next = 0;
  #worst: WorstCall | undefined;

  /** Calls that `counts` already holds, e.g. restored ones, count in no step. */
  constructor(counts: ReadonlyMap<string, Counts>) {
    this.#counts = counts;
    for (const { ok, clientErrors, errors } of counts.values()) {
      const row = this.#addRow();
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
    let row = 0;
    let worst: WorstCall | undefined;
    for (const [name, { ok, clientErrors, errors }] of this.#counts) {
      if (row === this.#rows) this.#addRow();
      const place = row * STEPS_PER_MINUTE + at;
      this.#ended[place] = take(this.#endedTotals, row, ok + clientErrors + errors);
      this.#failed[place] = take(this.#failedTotals, row, errors);
      const failed = errors === 0 || name === '' ? 0 : sumOf(this.#failed, row);
      if (failed > (worst?.failed ?? 0)) worst = { name, failed, ended: sumOf(this.#ended, row) };
      row += 1;
    }
    this.#worst = worst;
    this.#next = (at + 1) % STEPS_PER_MINUTE;
  }

  #addRow(): number {
    if (this.#rows === this.#endedTotals.length) this.#grow();
    this.#rows += 1;
    return this.#rows - 1;
  }

  #grow(): void {
    const capacity = this.#endedTotals.length * 2;
    this.#ended = copied(this.#ended, new Uint16Array(capacity * STEPS_PER_MINUTE));
    this.#failed = copied(this.#failed, new Uint16Array(capacity * STEPS_PER_MINUTE));
    this.#endedTotals = copied(this.#endedTotals, new Uint32Array(capacity));
    this.#failedTotals = copied(this.#failedTotals, new Uint32Array(capacity));
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

function copied<Numbers extends Uint16Array | Uint32Array>(from: Numbers, into: Numbers): Numbers {
  into.set(from);
  return into;
}
