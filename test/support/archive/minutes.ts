/** Minutes as `ApplicationHistory` ends them, made of durations, for tests of the history on disk. */
import type { EndedMinute, HistoryPoint } from '../../../src/measure/history/application-history.ts';
import type { NameRows } from '../../../src/measure/history/minute-record.ts';
import { MinuteCalls } from '../../../src/metrics/call-counts.ts';

export interface Called {
  readonly name: string;
  readonly ns: readonly number[];
  readonly errors?: number;
}

export const NO_SQLITE = process.getBuiltinModule?.('node:sqlite') === undefined;

export function createMinute(time: number, rpc: readonly Called[], { sessions = 3 } = {}): EndedMinute {
  const ended = rpc.reduce((sum, { ns, errors = 0 }) => sum + ns.length + errors, 0);
  const point = {
    ...{ seq: 1, epochMs: (time + 60) * 1_000, seconds: 60, aborted: 0, unanswered: 0, holds: 1, values: 7, sessions },
    ...{ heapUsed: 1e9, heapAfterGc: null, gcPauseMs: 2, busyThreads: 3, cores: 0.5 },
    times: { ended, durationS: ended, clientWaitS: 0 },
  } as unknown as HistoryPoint;
  const kinds = { rpc: createRows(rpc), sba: createRows([]), object: createRows([]) };
  const times = { time, epochMs: (time + 60) * 1_000, seconds: 60 };
  return { application: 'smartWeb', ...times, kinds, points: [point], created: 1 };
}

function createRows(calls: readonly Called[]): NameRows {
  const [names, ends, cells]: [string[], number[], number[]] = [[], [], []];
  for (const { name, ns, errors = 0 } of calls) {
    const minute = new MinuteCalls();
    for (const each of ns) minute.addDuration(each);
    const reading = Object.assign(minute, { ok: ns.length, errors }).take();
    if (reading === undefined) continue;
    cells.push(reading.ok, 0, reading.errors, 0, reading.maxNs, ...reading.buckets);
    names.push(name);
    ends.push(cells.length);
  }
  return { names, ends, cells: Float64Array.from(cells) };
}
