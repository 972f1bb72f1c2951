/** Filters, sorts and slices rows, and chooses columns, without a document. 10,000 rows take a few milliseconds. */
import type { DefinitionKey } from '../base/definitions.ts';
import type { PastView } from './past.ts';

export interface Column<Row> {
  readonly key: string;
  readonly label: string;
  readonly def: DefinitionKey;
  readonly isNumber: boolean;
  /** Least width; longer figures widen it. */
  readonly widthPx: number;
  /** A text of any length: cut in the middle where it is too long. */
  readonly isCut?: boolean;
  /** When room is short, columns leave in this order, 1 first; a column without it stays. The first column never leaves. */
  readonly leaves?: number;
  value(row: Row): string | number | null;
  /** `nowMs`: times of another day have their date. */
  text(row: Row, nowMs: number): string;
  /** The text in the details of a row, if it is longer than in the cell. */
  detail?(row: Row, nowMs: number): string;
  /** The text in a CSV file, if it is not the value. */
  csv?(row: Row): string;
  /** Whether to highlight the cell as a fault. */
  isBad?(row: Row): boolean;
}

export type CsvColumn<Row> = Pick<Column<Row>, 'label' | 'value' | 'csv'>;

export interface Sort {
  readonly key: string;
  readonly isDescending: boolean;
}

/** What the reader chose for a table, and for what is beside it. */
export interface TableView {
  /** Undefined: the table's own. */
  readonly sort: Sort | undefined;
  readonly filter: string;
  readonly onlyErrors: boolean;
  /** Sorting of the lists in the view of a name or session. */
  readonly lists: Readonly<Record<string, Sort>>;
  /** Seconds of the charts; undefined: the default. */
  readonly rangeS: number | undefined;
  /** The charts show the history on disk; undefined: the last hour. */
  readonly past: PastView | undefined;
}

export interface Layout<Row> {
  readonly shown: readonly Column<Row>[];
  /** Whether columns have left: then each row has a button for its details. */
  readonly hasMore: boolean;
  /** On a phone the first column has the whole width, and the others are below it. */
  readonly isStacked: boolean;
  readonly rowPx: number;
  /** Value of `grid-template-columns`. */
  readonly template: string;
}

const OVERSCAN_ROWS = 8;
const STACKED_BELOW_PX = 480;
const ROW_PX = 30;
const STACKED_ROW_PX = 56;
/** Of the first column. */
const NAME_PX = 180;
const MORE_PX = 36;

/** Rows whose text contains all words of `filter`, ignoring case. */
export function filterRows<Row>(rows: readonly Row[], filter: string, textOf: (row: Row) => string): readonly Row[] {
  const words = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const text = textOf(row).toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** Rows without a value come last in both directions; equal rows keep their order. */
export function sortRows<Row>(rows: readonly Row[], columns: readonly Column<Row>[], sort: Sort): readonly Row[] {
  const column = columns.find(({ key }) => key === sort.key) ?? columns[0];
  if (column === undefined) return rows;
  // Each value is computed once: sorting compares a hundred thousand times.
  const keyed = rows.map((row) => {
    const value = column.value(row);
    return { row, value: typeof value === 'string' ? value.toLowerCase() : value };
  });
  const sign = sort.isDescending ? -1 : 1;
  keyed.sort((a, b) => {
    if (a.value === b.value) return 0;
    if (a.value === null) return 1;
    if (b.value === null) return -1;
    return a.value < b.value ? -sign : sign;
  });
  return keyed.map(({ row }) => row);
}

/** The rows in the order that `held` gives their keys. Unknown rows come last, in their own order. */
export function holdOrder<Row>(
  rows: readonly Row[],
  held: ReadonlyMap<string, number>,
  keyOf: (row: Row) => string,
): readonly Row[] {
  const keyed = rows.map((row) => ({ row, at: held.get(keyOf(row)) ?? Number.POSITIVE_INFINITY }));
  keyed.sort((a, b) => (a.at === b.at ? 0 : a.at - b.at));
  return keyed.map(({ row }) => row);
}

/** Chooses the columns for a table of this width; see `Column.leaves`. */
export function layoutColumns<Row>(columns: readonly Column<Row>[], tablePx: number): Layout<Row> {
  const isStacked = tablePx < STACKED_BELOW_PX;
  const others = columns.slice(1);
  const left = new Set<Column<Row>>();
  let neededPx = others.reduce((sum, { widthPx }) => sum + widthPx, isStacked ? 0 : NAME_PX);
  const leaving = others.filter(({ leaves }) => leaves !== undefined);
  for (const column of leaving.sort((a, b) => (a.leaves ?? 0) - (b.leaves ?? 0))) {
    if (neededPx <= tablePx) break;
    if (left.size === 0) neededPx += MORE_PX;
    left.add(column);
    neededPx -= column.widthPx;
  }
  const shown = columns.filter((column) => !left.has(column));
  // Figures are never cut; their heads have the least width.
  const widths = shown.slice(1).map(({ widthPx, isCut }) => {
    if (isStacked) return `minmax(${isCut === true ? `${widthPx}px` : 'max-content'}, 1fr)`;
    return isCut === true ? `${widthPx}px` : 'max-content';
  });
  const name = isStacked ? [] : [`minmax(${NAME_PX}px, 1fr)`];
  const more = left.size > 0 ? [`${MORE_PX}px`] : [];
  return {
    ...{ shown, isStacked, hasMore: left.size > 0, rowPx: isStacked ? STACKED_ROW_PX : ROW_PX },
    template: [...name, ...widths, ...more].join(' '),
  };
}

/** Shorter texts are not cut in the middle. */
const UNCUT_CHARS = 16;
const LAST_WORD = /[\p{P}\p{Z}][^\p{P}\p{Z}]{1,11}[\p{P}\p{Z}]?$/u;
const WIDE_CHARS = /[\u1100-\uffff]/g;
const NARROW_EM = 0.6;
const WIDE_EM = 1.1;

/**
 * Where to split a text whose start may be cut: before its last word, never within a character. `endEm`: an upper limit
 * of the end's width, in the size of the font.
 */
export function splitForCut(text: string) {
  if (text.length <= UNCUT_CHARS) return { start: text, end: '', endEm: 0 };
  const word = LAST_WORD.exec(text)?.[0] ?? '';
  // A letter keeps its marks.
  const letters = (word === '' ? text : word).match(/\P{M}\p{M}*/gu) ?? [];
  const end = letters.slice(-12).join('');
  const wide = end.match(WIDE_CHARS)?.length ?? 0;
  const endEm = NARROW_EM * (end.length - wide) + WIDE_EM * wide;
  return { start: text.slice(0, text.length - end.length), end, endEm };
}

/** The rows to draw out of `count`, each `rowPx` high, in a viewport of `heightPx` scrolled to `topPx`. */
export function sliceRows(count: number, rowPx: number, topPx: number, heightPx: number) {
  // A list that shrank is scrolled too far until the browser corrects it.
  const last = Math.max(0, count - Math.ceil(heightPx / rowPx));
  const visible = Math.min(Math.max(0, Math.floor(topPx / rowPx)), last);
  const end = visible + Math.ceil(heightPx / rowPx) + 1;
  return { first: Math.max(0, visible - OVERSCAN_ROWS), end: Math.min(count, end + OVERSCAN_ROWS) };
}

/** The rows as RFC 4180, with all columns; times are ISO 8601, other values as they are sorted. */
export function formatCsv<Row>(columns: readonly CsvColumn<Row>[], rows: readonly Row[]): string {
  const lines = rows.map((row) => columns.map((column) => column.csv?.(row) ?? String(column.value(row) ?? '')));
  return [columns.map(({ label }) => label), ...lines].map((line) => `${line.map(quote).join(',')}\r\n`).join('');
}

/** Clients choose names: a text that a spreadsheet would run as a formula begins with an apostrophe. */
function quote(text: string): string {
  const harmless = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
