/** The columns of the tables of the history on disk. */
import { formatCount, formatDuration, formatRate } from '../base/figures.ts';
import { factorOf, type NameRow, type PastPoint, ratioOf } from './past.ts';
import type { Column } from './table-model.ts';

/** A smaller change is not marked. */
const MARKED = 1.2;

/** `×1.4`, with an arrow where it is marked. */
export function formatFactor(factor: number | null): string {
  if (factor === null) return '–';
  const arrow = factor >= MARKED ? '▲ ' : factor <= 1 / MARKED ? '▼ ' : '';
  return `${arrow}×${formatRate(factor)}`;
}

type Key = Exclude<keyof NameRow, 'name'>;

function column(key: Key, label: string, def: Column<NameRow>['def'], more: Partial<Column<NameRow>> = {}) {
  const format = key.startsWith('p') ? formatDuration : formatCount;
  const value = (row: NameRow) => row[key];
  const text = (row: NameRow) => (row[key] === null ? '–' : format(row[key] as number));
  return { key, label, def, widthPx: 72, isNumber: true, value, text, ...more };
}

const NAME: Column<NameRow> = {
  ...{ key: 'name', label: 'Name', def: 'past.name', widthPx: 180, isNumber: false, isCut: true },
  value: ({ name }) => name,
  text: ({ name }) => name,
};

const ERRORS = column('errors', 'Errors', 'past.errors', { isBad: ({ errors }) => errors > 0, leaves: 3 });

export const NAME_COLUMNS: readonly Column<NameRow>[] = [
  NAME,
  column('count', 'Calls', 'past.count'),
  ERRORS,
  column('p50', 'p50', 'past.duration', { leaves: 4 }),
  column('p95', 'p95', 'past.duration'),
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
  column('p50', 'p50', 'past.duration', { leaves: 6, isBad: ({ p50, p50Before }) => isMarked(p50, p50Before) }),
  column('p50Before', 'before', 'past.before', { leaves: 5 }),
  column('p95', 'p95', 'past.duration', { isBad: ({ p95, p95Before }) => isMarked(p95, p95Before) }),
  column('p95Before', 'before', 'past.before'),
  column('count', 'Calls', 'past.count', { leaves: 4 }),
  column('countBefore', 'before', 'past.before', { leaves: 2 }),
  ERRORS,
  column('errorsBefore', 'before', 'past.before', { leaves: 1 }),
];

function isMarked(now: number | null, before: number | null): boolean {
  return (ratioOf(now, before) ?? 0) >= MARKED;
}

/** For a CSV file of the charts. */
export function createPointColumns(isCompared: boolean): readonly Column<PastPoint>[] {
  const numbers: readonly (readonly [label: string, value: (point: PastPoint) => number | null | undefined])[] = [
    ...KEYS.map((key) => [key, ({ calls }: PastPoint) => calls?.[key]] as const),
    ['sessions', ({ sessions }) => sessions],
    ...(isCompared ? KEYS.map((key) => [`${key} before`, ({ before }: PastPoint) => before?.[key]] as const) : []),
    ...(isCompared ? [['sessions before', ({ sessionsBefore }: PastPoint) => sessionsBefore] as const] : []),
  ];
  return [
    {
      ...{ key: 'time', label: 'time', def: 'past.calls', widthPx: 0, isNumber: false },
      value: ({ t }) => t,
      text: ({ t }) => String(t),
      csv: ({ t }) => new Date(t * 1000).toISOString(),
    },
    ...numbers.map(([label, value]) => {
      const shown = (point: PastPoint) => value(point) ?? null;
      return {
        ...{ key: label, label, def: 'past.calls' as const, widthPx: 0, isNumber: true },
        ...{ value: shown, text: (point: PastPoint) => String(shown(point) ?? '') },
      };
    }),
  ];
}

const KEYS = ['count', 'errors', 'p50', 'p95', 'max'] as const;
