/** Makes the rows of the tables from the answers of the port. */
import type { SingleCall, SingleCallRow } from './live-data.ts';

/** A table as the port sends it: the names once, then the values of each row in their order. */
export interface Columns {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

export function parseRows({ columns, rows }: Columns): readonly object[] {
  return rows.map((values) => Object.fromEntries(columns.map((name, at) => [name, values[at]])));
}

/** `clientTimeoutS`: a later answer is too late for its user; 0: never. */
export function parseCalls(calls: readonly SingleCall[], clientTimeoutS: number): readonly SingleCallRow[] {
  return calls.map((call, at) => ({
    ...call,
    key: `${call.startTime} ${at}`,
    isLate: clientTimeoutS > 0 && call.duration > clientTimeoutS,
  }));
}
