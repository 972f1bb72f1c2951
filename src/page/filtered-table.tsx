/** A table with its filter, which keeps the order of its rows while the reader points at them. */
import { useMemo, useRef, useState } from 'preact/hooks';
import { formatCount } from '../base/figures.ts';
import { DataTable, type TableProps } from './data-table.tsx';
import { Term } from './explanations.tsx';
import type { Shown } from './page-state.ts';
import {
  type CsvColumn,
  filterRows,
  formatCsv,
  holdOrder,
  type Sort,
  sortRows,
  type TableView,
} from './table-model.ts';

interface FilteredTableProps<Row> extends Omit<TableProps<Row>, 'shown' | 'sort' | 'onSort' | 'onHold'> {
  /** Key of the column that sorts it first, descending. */
  readonly sortedBy: string;
  /** Whether a row had errors. If given, a checkbox filters for such rows. */
  readonly hasErrors?: (row: Row) => boolean;
  readonly view: TableView;
  readonly onView: (change: Partial<TableView>) => void;
  /** The text to filter by, if it is not the key. */
  readonly filterText?: (row: Row) => string;
}

export function FilteredTable<Row>(props: FilteredTableProps<Row>) {
  const { caption, columns, rows, sortedBy, hasErrors, view, onView } = props;
  const { filterText = props.keyOf } = props;
  const { filter, onlyErrors } = view;
  const sort = useMemo(() => view.sort ?? { key: sortedBy, isDescending: true }, [view, sortedBy]);
  const hold = useHold(props.keyOf, `${sort.key} ${sort.isDescending} ${onlyErrors} ${filter}`);
  const sorted = useMemo(() => {
    const wanted = onlyErrors && hasErrors !== undefined ? rows.filter(hasErrors) : rows;
    return sortRows(filterRows(wanted, filter, filterText), columns, sort);
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
            onInput={(event) => onView({ filter: event.currentTarget.value })}
          />
        </label>
        {hasErrors && (
          <label class="check">
            <input
              type="checkbox"
              checked={onlyErrors}
              onInput={(event) => onView({ onlyErrors: event.currentTarget.checked })}
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
        <CsvButton name={caption} columns={columns} rows={shown} />
      </div>
      <DataTable {...props} shown={shown} sort={sort} onSort={(chosen) => onView({ sort: chosen })} onHold={hold.set} />
    </div>
  );
}

/** The rows and the sorting of a list without a filter. `name`: of the list, for its sorting in the address. */
export function useList<Row>(
  name: string,
  sortedBy: string,
  { rows, columns }: Pick<TableProps<Row>, 'rows' | 'columns'>,
  { state, onView }: Pick<Shown, 'state' | 'onView'>,
) {
  const { lists } = state.route.view;
  const chosen = lists[name];
  const sort = useMemo(() => chosen ?? { key: sortedBy, isDescending: true }, [chosen, sortedBy]);
  const shown = useMemo(() => sortRows(rows, columns, sort), [rows, columns, sort]);
  return { rows, columns, shown, sort, onSort: (next: Sort) => onView({ lists: { ...lists, [name]: next } }) };
}

interface CsvProps<Row> {
  /** Of the file. */
  readonly name: string;
  readonly columns: readonly CsvColumn<Row>[];
  readonly rows: readonly Row[];
}

export function CsvButton<Row>({ name, columns, rows }: CsvProps<Row>) {
  return (
    <button type="button" class="link" onClick={() => saveCsv(name, formatCsv(columns, rows))}>
      CSV <span class="hidden">of {name}</span>
    </button>
  );
}

/** Hands the file to the browser's downloads; with a byte order mark, so that spreadsheets read UTF-8. */
function saveCsv(name: string, text: string): void {
  const href = URL.createObjectURL(new Blob(['\ufeff', text], { type: 'text/csv' }));
  Object.assign(document.createElement('a'), { href, download: `${name}.csv` }).click();
  URL.revokeObjectURL(href);
}

/**
 * Freezes the row order while the pointer is over the table, or a row has the focus, so that a row stays where it is about to be clicked;
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
