import type { EndedMinute } from '../measure/history/application-history.ts';

/** Columns of the table `totals`: sums over a step, or its greatest value. Null where nothing is known. */
export const TOTALS = {
  ...{ seconds: 'sum', received: 'sum', created: 'sum', aborted: 'sum', unanswered: 'sum' },
  ...{ ended: 'sum', durationS: 'sum', clientWaitS: 'sum', gcPauseMs: 'sum' },
  ...{ sessions: 'most', holds: 'most', heapUsed: 'most', heapAfterGc: 'most', busyThreads: 'most', cores: 'most' },
} as const;

export type TotalKey = keyof typeof TOTALS;

/** In the order of `TOTALS`. */
export function addUp({ points, created }: EndedMinute): (number | null)[] {
  const known = points.map(({ values: received, times, ...point }): Values => ({ ...point, ...times, received }));
  return Object.entries(TOTALS).map(([key, join]) => {
    if (key === 'created') return created;
    const values = known.flatMap((point) => point[key as TotalKey] ?? []);
    if (values.length === 0) return null;
    return join === 'sum' ? values.reduce((sum, value) => sum + value, 0) : Math.max(...values);
  });
}

type Values = { readonly [Key in TotalKey]?: number | null };
