/**
 * A table of any length that sorts and filters. Only visible rows are in the document; aria-rowcount and aria-rowindex
 * give screen readers their number and positions.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { formatCount } from '../base/figures.ts';
import { explained, Term } from './explanations.tsx';
import { type Column, filterRows, firstSort, holdOrder, type Sort, sliceRows, sortRows } from './table-model.ts';

export type Cells<Row> = Readonly<Record<string, (row: Row) => ComponentChildren>>;

export interface TableProps<Row> {
  /** Name of the rows, e.g. `RPCs`. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Key of the column that sorts it first, descending. */
  readonly sortedBy: string;
  /** Whether a row had errors. If given, a checkbox filters for such rows. */
  readonly hasErrors?: (row: Row) => boolean;
  /** The text to filter by. */
  readonly filterText: (row: Row) => string;
  readonly keyOf: (row: Row) => string;
  readonly href: (row: Row) => string;
  /** Content that replaces a column's text. */
  readonly cells?: Cells<Row>;
  readonly emptyText: string;
  readonly nowMs: number;
}

const ROW_PX = 30;
const FIRST_HEIGHT_PX = 600;

export function DataTable<Row>(props: TableProps<Row>) {
  const { caption, columns, rows, sortedBy, hasErrors, filterText } = props;
  const [filter, setFilter] = useState('');
  const [onlyErrors, setOnlyErrors] = useState(false);
  const [sort, setSort] = useState<Sort>({ key: sortedBy, isDescending: true });
  const hold = useHold(props.keyOf, `${sort.key} ${sort.isDescending} ${onlyErrors} ${filter}`);
  const sorted = useMemo(() => {
    const column = columns.find(({ key }) => key === sort.key) ?? columns[0];
    const wanted = onlyErrors && hasErrors !== undefined ? rows.filter(hasErrors) : rows;
    const found = filterRows(wanted, filter, filterText);
    return column === undefined ? found : sortRows(found, column, sort.isDescending);
  }, [rows, columns, filter, onlyErrors, sort, hasErrors, filterText]);
  const shown = hold.freeze(sorted);
  return (
    <div class="data-table">
      <div class="table-tools">
        <label class="filter">
          <span class="hidden">Filter {caption}</span>
          <input
            type="search"
            placeholder={`Filter ${caption}`}
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
        </label>
        {hasErrors && (
          <label class="check">
            <input
              type="checkbox"
              checked={onlyErrors}
              onInput={(event) => setOnlyErrors(event.currentTarget.checked)}
            />
            with errors
          </label>
        )}
        <output class="table-count">
          <Term def="table.count">
            {shown.length === rows.length
              ? formatCount(rows.length)
              : `${formatCount(shown.length)} of ${formatCount(rows.length)}`}
          </Term>
        </output>
      </div>
      <Scroller {...props} shown={shown} sort={sort} onSort={setSort} onHold={hold.set} />
    </div>
  );
}

/**
 * Freezes the row order while the pointer is over the table, so that a row stays where it is about to be clicked;
 * numbers still change. `criteria` names sorting and filter: a change reorders at once.
 */
function useHold<Row>(keyOf: (row: Row) => string, criteria: string) {
  const [isHeld, set] = useState(false);
  const held = useRef<{ readonly criteria: string; readonly order: ReadonlyMap<string, number> }>(undefined);
  const freeze = (sorted: readonly Row[]): readonly Row[] => {
    const known = isHeld && held.current?.criteria === criteria ? held.current.order : undefined;
    const shown = known === undefined ? sorted : holdOrder(sorted, known, keyOf);
    held.current = isHeld ? { criteria, order: new Map(shown.map((row, at) => [keyOf(row), at])) } : undefined;
    return shown;
  };
  return { set, freeze };
}

interface ScrollerProps<Row> extends TableProps<Row> {
  readonly shown: readonly Row[];
  readonly sort: Sort;
  readonly onSort: (sort: Sort) => void;
  readonly onHold: (isHeld: boolean) => void;
}

function Scroller<Row>(props: ScrollerProps<Row>) {
  const { caption, columns, shown, rows, sort, onSort, onHold, keyOf, emptyText } = props;
  const box = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ top: 0, height: FIRST_HEIGHT_PX });
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = () =>
      setPlace((known) =>
        known.top === element.scrollTop && known.height === element.clientHeight
          ? known
          : { top: element.scrollTop, height: element.clientHeight },
      );
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, []);
  const slice = sliceRows(shown.length, ROW_PX, place.top, place.height);
  return (
    <section
      class="scroller"
      ref={box}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard (WCAG 2.1.1)
      tabIndex={0}
      aria-label={`${caption}, scrollable`}
      onPointerEnter={() => onHold(true)}
      onPointerLeave={() => onHold(false)}
    >
      <table aria-rowcount={shown.length + 1}>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <Head key={column.key} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          <Space rows={slice.first} />
          {shown.slice(slice.first, slice.end).map((row, index) => (
            <Line key={keyOf(row)} row={row} index={slice.first + index + 2} table={props} />
          ))}
          <Space rows={shown.length - slice.end} />
        </tbody>
      </table>
      {shown.length === 0 && <p class="empty">{rows.length === 0 ? emptyText : 'Nothing here matches the filter.'}</p>}
    </section>
  );
}

interface HeadProps<Row> {
  readonly column: Column<Row>;
  readonly sort: Sort;
  readonly onSort: (sort: Sort) => void;
}

function Head<Row>({ column, sort, onSort }: HeadProps<Row>) {
  const isSorted = sort.key === column.key;
  const direction = sort.isDescending ? 'descending' : 'ascending';
  const next = isSorted ? { key: column.key, isDescending: !sort.isDescending } : firstSort(column);
  return (
    <th scope="col" class={formatClass(column)} aria-sort={isSorted ? direction : 'none'}>
      <button type="button" onClick={() => onSort(next)} {...explained(column.def)}>
        {column.label}
        <span class="arrow" aria-hidden="true">
          {isSorted ? (sort.isDescending ? '▼' : '▲') : ''}
        </span>
      </button>
    </th>
  );
}

function Line<Row>({ row, index, table }: { row: Row; index: number; table: TableProps<Row> }) {
  return (
    <tr aria-rowindex={index} onClick={followLink}>
      {table.columns.map((column, at) => {
        const content = table.cells?.[column.key]?.(row) ?? column.text(row, table.nowMs);
        if (at > 0) {
          return (
            <td key={column.key} class={formatClass(column, row)} data-def={column.def}>
              {content}
            </td>
          );
        }
        return (
          <th key={column.key} scope="row" class={formatClass(column)}>
            <a href={table.href(row)} title={column.text(row, table.nowMs)}>
              {content}
            </a>
          </th>
        );
      })}
    </tr>
  );
}

/** A click in the row follows its link. Clicks on the link itself are the browser's, e.g. for a new window. */
function followLink({ currentTarget, target }: { currentTarget: HTMLElement; target: EventTarget | null }): void {
  const isSelecting = getSelection()?.type === 'Range';
  if (isSelecting || (target instanceof Element && target.closest('a') !== null)) return;
  currentTarget.querySelector('a')?.click();
}

/** Placeholder for the rows that are not visible. A colSpan would give hidden columns a width. */
function Space({ rows }: { rows: number }) {
  if (rows <= 0) return null;
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row that holds nothing, and takes no focus
    <tr aria-hidden="true" class="space">
      <td style={{ height: `${rows * ROW_PX}px` }} />
    </tr>
  );
}

function formatClass<Row>(column: Column<Row>, row?: Row): string {
  const isBad = row !== undefined && column.isBad?.(row) === true;
  return [column.width, column.isNumber ? 'number' : '', column.isMinor ? 'minor' : '', isBad ? 'bad' : '']
    .filter(Boolean)
    .join(' ');
}
