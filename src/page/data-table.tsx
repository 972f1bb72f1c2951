/**
 * A table of any length. Only visible rows are in the document; aria-rowcount and aria-rowindex give screen readers
 * their number and positions. The first column always has room; when others have left, each row has a button for them.
 */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { explained } from './explanations.tsx';
import { type Column, type Layout, layoutColumns, type Sort, sliceRows, splitForCut } from './table-model.ts';

export type Cells<Row> = Readonly<Record<string, (row: Row) => ComponentChildren>>;

export interface TableProps<Row> {
  /** Name of the rows, e.g. `RPCs`. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** The rows that match the filter, in order. */
  readonly shown: readonly Row[];
  readonly sort: Sort;
  readonly onSort: (sort: Sort) => void;
  /** Called when the reader begins and ends to point at the table, or to have a row in focus. */
  readonly onHold?: (isHeld: boolean) => void;
  readonly keyOf: (row: Row) => string;
  readonly href?: (row: Row) => string;
  /** Content that replaces a column's text. */
  readonly cells?: Cells<Row>;
  readonly emptyText: string;
  readonly nowMs: number;
}

const FIRST_HEIGHT_PX = 600;

export function DataTable<Row>(props: TableProps<Row>) {
  const { caption, columns, shown, rows, sort, onSort, onHold, keyOf, emptyText } = props;
  const { box, top, height, width } = usePlace();
  const layout = useMemo(() => layoutColumns(columns, width), [columns, width]);
  const slice = sliceRows(shown.length, layout.rowPx, top, height);
  const hold = () => onHold?.(box.current?.matches(':hover, :has(tbody :focus)') === true);
  return (
    <section
      class={layout.isStacked ? 'scroller stacked' : 'scroller'}
      ref={box}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard (WCAG 2.1.1)
      tabIndex={0}
      aria-label={`${caption}, scrollable`}
      onPointerEnter={hold}
      onPointerLeave={hold}
      onFocusIn={hold}
      onFocusOut={hold}
    >
      <table aria-rowcount={shown.length + 1} style={{ gridTemplateColumns: layout.template }}>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr aria-rowindex={1}>
            {layout.shown.map((column) => (
              <Head key={column.key} column={column} sort={sort} onSort={onSort} />
            ))}
            {layout.hasMore && (
              <th scope="col">
                <span class="hidden">Details</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          <Space px={slice.first * layout.rowPx} />
          {shown.slice(slice.first, slice.end).map((row, index) => (
            <Line key={keyOf(row)} row={row} index={slice.first + index + 2} table={props} layout={layout} />
          ))}
          <Space px={(shown.length - slice.end) * layout.rowPx} />
        </tbody>
      </table>
      {shown.length === 0 && <p class="empty">{rows.length === 0 ? emptyText : 'Nothing here matches the filter.'}</p>}
    </section>
  );
}

/** The size of the scrolled box, and how far it is scrolled. */
function usePlace() {
  const box = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ top: 0, height: FIRST_HEIGHT_PX, width: 0 });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = () => {
      const { scrollTop: top, clientHeight: height, clientWidth: width } = element;
      setPlace((known) =>
        known.top === top && known.height === height && known.width === width ? known : { top, height, width },
      );
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, []);
  return { box, ...place };
}

function Head<Row>({ column, sort, onSort }: { column: Column<Row> } & Pick<TableProps<Row>, 'sort' | 'onSort'>) {
  const isSorted = sort.key === column.key;
  const direction = sort.isDescending ? 'descending' : 'ascending';
  // At first numbers descend, and names ascend.
  const next = { key: column.key, isDescending: isSorted ? !sort.isDescending : column.isNumber };
  return (
    <th
      scope="col"
      class={formatClass(column)}
      aria-sort={isSorted ? direction : 'none'}
      style={{ minWidth: `${column.widthPx}px` }}
    >
      <button type="button" onClick={() => onSort(next)} {...explained(column.def)}>
        {column.label}
        <span class="arrow" aria-hidden="true">
          {isSorted ? (sort.isDescending ? '▼' : '▲') : ''}
        </span>
      </button>
    </th>
  );
}

function Line<Row>(props: { row: Row; index: number; table: TableProps<Row>; layout: Layout<Row> }) {
  const { row, index, layout } = props;
  const { columns, cells, href, nowMs } = props.table;
  const details = describeRow(columns, row, nowMs);
  return (
    <tr aria-rowindex={index} onClick={followLink}>
      {layout.shown.map((column, at) => {
        const text = column.text(row, nowMs);
        const content = cells?.[column.key]?.(row) ?? (column.isCut ? <Cut text={text} /> : text);
        if (at > 0) {
          return (
            <td key={column.key} class={formatClass(column, row)} data-def={column.def} data-cut={text}>
              {content}
            </td>
          );
        }
        return (
          <th key={column.key} scope="row">
            {href === undefined ? (
              <span data-cut={text}>{content}</span>
            ) : (
              <a href={href(row)} aria-label={text} data-more={details}>
                {content}
              </a>
            )}
          </th>
        );
      })}
      {layout.hasMore && (
        <td>
          <button type="button" class="more" aria-label={`Details: ${details}`} data-more={details} onClick={focus}>
            ⋯
          </button>
        </td>
      )}
    </tr>
  );
}

/** A text that is cut in the middle if it is too long. The whole text is in the document, and so is copied and read. */
export function Cut({ text }: { text: string }) {
  const { start, end, endEm } = useMemo(() => splitForCut(text), [text]);
  return (
    <bdi class="cut">
      <span style={{ maxWidth: `calc(100% - ${endEm}em)` }}>{start}</span>
      {end !== '' && <span class="cut-end">{end}</span>}
    </bdi>
  );
}

/** The first text of the row, then a line for each other one, e.g. `Calls: 12`. */
function describeRow<Row>(columns: readonly Column<Row>[], row: Row, nowMs: number): string {
  const lines = columns.map(
    ({ label, text, detail = text }, at) => `${at === 0 ? '' : `${label}: `}${detail(row, nowMs)}`,
  );
  return lines.join('\n');
}

/** Also where a click does not focus a button by itself, as in Safari. */
function focus({ currentTarget }: { currentTarget: HTMLElement }): void {
  currentTarget.focus();
}

/** A click in the row follows its link. Clicks on a link or a button are the browser's, e.g. for a new window. */
function followLink({ currentTarget, target }: { currentTarget: HTMLElement; target: EventTarget | null }): void {
  const isSelecting = getSelection()?.type === 'Range';
  if (isSelecting || (target instanceof Element && target.closest('a, button') !== null)) return;
  currentTarget.querySelector('a')?.click();
}

/** Placeholder for the rows that are not visible. */
function Space({ px }: { px: number }) {
  if (px <= 0) return null;
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row that holds nothing, and takes no focus
    <tr aria-hidden="true" class="space">
      <td style={{ height: `${px}px` }} />
    </tr>
  );
}

function formatClass<Row>(column: Column<Row>, row?: Row): string {
  const isBad = row !== undefined && column.isBad?.(row) === true;
  return [column.isNumber ? 'number' : '', isBad ? 'bad' : ''].filter(Boolean).join(' ');
}
