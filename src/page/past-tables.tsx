/** The calls of a range by name, beside another time, and the names that became slower since a mark. */
import { DEFINITIONS } from '../base/definitions.ts';
import { DataTable } from './data-table.tsx';
import { Term } from './explanations.tsx';
import { CsvButton, useList } from './filtered-table.tsx';
import { formatTime } from './format.ts';
import type { Shown } from './page-state.ts';
import { MAX_NAMES_S, type NameRow, type PastState, type SlowerNames } from './past.ts';
import { COMPARED_COLUMNS, NAME_COLUMNS } from './past-columns.ts';
import { formatRoute } from './route.ts';

interface PastTablesProps extends Shown {
  readonly past: PastState;
}

export function PastTables(props: PastTablesProps) {
  const { past, nowMs, onView, state } = props;
  const { query, names, slower } = past;
  const isCompared = query.shiftS !== undefined;
  return (
    <>
      {query.sinceS !== undefined && (
        <section class="past-table" aria-labelledby="slower-heading">
          <h3 id="slower-heading">
            <Term def="past.slower">Slower since {formatTime(query.sinceS * 1000, nowMs)}</Term>{' '}
            <button
              type="button"
              class="link"
              onClick={() => state.route.view.past && onView({ past: { ...state.route.view.past, sinceS: undefined } })}
            >
              Close
            </button>
          </h3>
          <p class="note" data-def="past.slower">
            {DEFINITIONS['past.slower'].text}
          </p>
          {slower === undefined ? <p class="empty">Reading …</p> : <SlowerTable {...props} slower={slower} />}
        </section>
      )}
      {!query.isSingle && (
        <section class="past-table" aria-labelledby="names-heading">
          <h3 id="names-heading">
            Calls by name{query.toS - query.fromS > MAX_NAMES_S ? ', of the last 7 days of the range' : ''}
          </h3>
          <Names
            {...props}
            name="names"
            caption="Calls by name"
            // The port also sends those with calls in the time before only.
            rows={isCompared ? names : names.filter(({ count, errors }) => count + errors > 0)}
            isCompared={isCompared}
          />
        </section>
      )}
    </>
  );
}

function SlowerTable({ slower, ...props }: PastTablesProps & { slower: SlowerNames }) {
  const { from, to, periods, rows } = slower;
  if (from === to) return <p class="empty">The first whole step since then has not begun. It takes some minutes.</p>;
  if (periods === 0) return <p class="empty">Nothing was measured before, so there is nothing to compare with.</p>;
  if (rows.length === 0) {
    return <p class="empty">No name became slower than in the {periods} periods before (at most a day of each).</p>;
  }
  return <Names {...props} name="slower" caption="Slower names" rows={rows} isCompared />;
}

interface NamesProps extends PastTablesProps {
  /** In the address, for the sorting. */
  readonly name: string;
  readonly caption: string;
  readonly rows: readonly NameRow[];
  readonly isCompared: boolean;
}

function Names({ state, application, name, caption, rows, isCompared, nowMs, onView }: NamesProps) {
  const columns = isCompared ? COMPARED_COLUMNS : NAME_COLUMNS;
  const list = useList(name, isCompared ? 'change' : 'p95', { rows, columns }, { state, onView });
  return (
    <>
      <DataTable
        {...{ ...list, caption, nowMs }}
        keyOf={(row) => row.name}
        href={(row) => formatName(application.name, row.name)}
        emptyText="No calls in this range."
      />
      <CsvButton name={caption} columns={columns} rows={list.shown} />
    </>
  );
}

/** Leads to the view of the name, e.g. of `rpc.E.Demo.Run`. */
function formatName(application: string, name: string): string {
  const [kind = 'rpc'] = name.split('.', 1);
  return formatRoute({ application, table: kind === 'sba' ? 'sba' : 'rpc', item: name.slice(kind.length + 1) });
}
