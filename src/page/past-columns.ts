/** The columns of the tables of the history on disk. */
import { formatCount, formatDuration, formatRate } from '../base/figures.ts';
import { factorOf, type NameRow, type PastPoint, ratioOf } from './past.ts';
import { number, text } from './table-columns.ts';
import type { Column, CsvColumn } from './table-model.ts';

/** A smaller change is not marked. */
const MARKED = 1.2;

/** `×1.4`, with an arrow where it is marked. */
export function formatFactor(factor: number | null): string {
  if (factor === null) return '–';
  const arrow = factor >= MARKED ? '▲ ' : factor <= 1 / MARKED ? '▼ ' : '';
  return `${arrow}×${formatRate(factor)}`;
}

const NAME: Column<NameRow> = text('name', 'Name', 'past.name', { widthPx: 180 });
const ERRORS: Column<NameRow> = number('errors', 'Errors', 'past.errors', formatCount, {
  isBad: ({ errors }) => errors > 0,
  leaves: 3,
});

export const NAME_COLUMNS: readonly Column<NameRow>[] = [
  NAME,
  number('count', 'Calls', 'past.count', formatCount),
  ERRORS,
  number('p50', 'p50', 'past.duration', formatDuration, { leaves: 4 }),
  number('p95', 'p95', 'past.duration', formatDuration),
];

const CHANGE: Column<NameRow> = {
  ...{ key: 'change', label: 'Change', def: 'past.change', widthPx: 92, isNumber: true },
  value: factorOf,
  text: (row) => formatFactor(factorOf(row)),
  isBad: (row) => (factorOf(row) ?? 0) >= MARKED,
};

export const COMPARED_COLUMNS: readonly Column<NameRow>[] = [
  NAME,
  CHANGE,
  number('p50', 'p50', 'past.duration', formatDuration, {
    leaves: 6,
    isBad: ({ p50, p50Before }) => isMarked(p50, p50Before),
  }),
  number('p50Before', 'before', 'past.before', formatDuration, { leaves: 5 }),
  number('p95', 'p95', 'past.duration', formatDuration, { isBad: ({ p95, p95Before }) => isMarked(p95, p95Before) }),
  number('p95Before', 'before', 'past.before', formatDuration),
  number('count', 'Calls', 'past.count', formatCount, { leaves: 4 }),
  number('countBefore', 'before', 'past.before', formatCount, { leaves: 2 }),
  ERRORS,
  number('errorsBefore', 'before', 'past.before', formatCount, { leaves: 1 }),
];

function isMarked(now: number | null, before: number | null): boolean {
  return (ratioOf(now, before) ?? 0) >= MARKED;
}

const KEYS = ['count', 'errors', 'p50', 'p95', 'max'] as const;

/** For a CSV file of the charts. */
export function createPointColumns(isCompared: boolean): readonly CsvColumn<PastPoint>[] {
  const columnsOf = (time: 'now' | 'before', suffix: string): readonly CsvColumn<PastPoint>[] => [
    ...KEYS.map((key) => ({ label: `${key}${suffix}`, value: (point: PastPoint) => point[time].calls?.[key] ?? null })),
    { label: `sessions${suffix}`, value: (point) => point[time].sessions ?? null },
  ];
  return [
    { label: 'time', value: ({ t }) => t, csv: ({ t }) => new Date(t * 1000).toISOString() },
    ...columnsOf('now', ''),
    ...(isCompared ? columnsOf('before', ' before') : []),
  ];
}
