/** The tables and their tabs. */
import { formatCount, formatDuration } from '../base/figures.ts';
import { type Cells, Cut } from './data-table.tsx';
import { FigureList } from './figure-list.tsx';
import { FilteredTable } from './filtered-table.tsx';
import { describeConnection, describeUser } from './format.ts';
import type { CallRow, LiveApplication, RowsOf, SingleCallRow, TableKind } from './live-data.ts';
import type { Shown, TableState } from './page-state.ts';
import { formatRoute, PERSONAL_TABLES } from './route.ts';
import { Spark } from './spark.tsx';
import {
  CALL_COLUMNS,
  measuredSteps,
  OBJECT_COLUMNS,
  PATH_COLUMNS,
  RUNNING_COLUMNS,
  SESSION_COLUMNS,
  SLOWEST_COLUMNS,
} from './table-columns.ts';
import type { Column } from './table-model.ts';

/** What a table shows, and where a row leads. */
interface TableOf<Row> {
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  readonly sortedBy: string;
  readonly emptyText: string;
  readonly hasErrors?: (row: Row) => boolean;
  keyOf(row: Row): string;
  filterText?(row: Row): string;
  href(row: Row, application: string): string;
}

export const TABLES: { readonly [Kind in TableKind]: TableOf<RowsOf[Kind][number]> } = {
  rpc: { ...namesTable('rpc', 'RPCs', CALL_COLUMNS, 'No RPC has been called yet.'), hasErrors },
  sba: { ...namesTable('sba', 'SBAs', CALL_COLUMNS, 'No SBA RPC has been called yet.'), hasErrors },
  objects: namesTable('objects', 'Objects', OBJECT_COLUMNS, 'No object has been monitored or read yet.'),
  sessions: {
    name: 'Sessions',
    columns: SESSION_COLUMNS,
    sortedBy: 'lastActivityTime',
    emptyText: 'Nobody is logged in.',
    hasErrors,
    keyOf: ({ id }) => id,
    filterText: (row) => `${describeUser(row)} ${describeConnection(row.connectionType)} ${row.remoteAddress}`,
    href: ({ id }, application) => formatRoute({ application, table: 'sessions', item: id }),
  },
  running: singleCallsTable('Running now', RUNNING_COLUMNS, 'No calls are running.'),
  slowest: singleCallsTable('Slowest of the hour', SLOWEST_COLUMNS, 'No call has ended in the last hour.'),
  unclassified: {
    name: 'Not classified',
    columns: PATH_COLUMNS,
    sortedBy: 'count',
    emptyText: 'Every answered request was a call, or belonged to the Comet endpoint.',
    keyOf: ({ path }) => path,
    href: (_row, application) => formatRoute({ application, table: 'unclassified' }),
  },
};

function hasErrors({ errors }: { readonly errors: number }): boolean {
  return errors > 0;
}

function namesTable<Row extends { readonly name: string }>(
  table: TableKind,
  name: string,
  columns: readonly Column<Row>[],
  emptyText: string,
): TableOf<Row> {
  return {
    ...{ name, columns, sortedBy: 'rate', emptyText },
    keyOf: (row) => row.name,
    href: (row, application) => formatRoute({ application, table, item: row.name }),
  };
}

/** A row leads to its name, and its user to the session. */
function singleCallsTable(
  name: string,
  columns: readonly Column<SingleCallRow>[],
  emptyText: string,
): TableOf<SingleCallRow> {
  return {
    ...{ name, columns, sortedBy: 'duration', emptyText },
    keyOf: ({ key }) => key,
    filterText: (row) => `${row.name} ${row.userName ?? ''} ${row.remoteAddress}`,
    href: formatCallHash,
  };
}

export function Tabs({ state, application }: Shown) {
  return (
    <nav class="tabs" aria-label="Tables">
      <ul>
        {(Object.keys(TABLES) as TableKind[]).map((kind) => (
          <li key={kind}>
            <a
              href={formatRoute({ application: application.name, table: kind })}
              aria-current={state.route.table === kind ? 'page' : undefined}
            >
              {TABLES[kind].name}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

export function Table({ state, live, application, nowMs, onView }: Shown) {
  const { route, table } = state;
  if (PERSONAL_TABLES.has(route.table) && live.role !== 'sessions') {
    return route.table === 'sessions' ? (
      <HiddenSessions application={application} />
    ) : (
      <NeedsRole class="empty" what="Single calls and paths need" />
    );
  }
  if (table === undefined || table.kind !== route.table || table.application !== application.name) {
    return <p class="empty">Reading {TABLES[route.table].name} …</p>;
  }
  const definition = TABLES[table.kind] as TableOf<never>;
  return (
    <FilteredTable
      key={table.kind}
      {...definition}
      caption={definition.name}
      rows={table.rows as readonly never[]}
      href={(row) => definition.href(row, application.name)}
      view={route.view}
      onView={onView}
      cells={cellsOf(table, live.seq)}
      nowMs={nowMs}
    />
  );
}

/** Content that is more than text. `seq`: the newest step of the sidecar. */
function cellsOf({ kind, rows, application }: TableState, seq: number): Cells<never> {
  if (kind === 'rpc' || kind === 'sba') {
    return { spark: (row: CallRow) => <Spark values={measuredSteps(row, seq)} /> };
  }
  if (kind !== 'running' && kind !== 'slowest') return {};
  const longestS = (rows as readonly SingleCallRow[]).reduce((most, { duration }) => Math.max(most, duration), 0);
  return {
    duration: ({ duration }: SingleCallRow) => <Age seconds={duration} longestS={longestS} />,
    userName: (row: SingleCallRow) => <UserOf row={row} application={application} />,
  };
}

/** Calls of kind `session` have no view. */
function formatCallHash({ kind, name }: SingleCallRow, application: string): string {
  if (kind === 'session') return formatRoute({ application, table: 'sessions' });
  return formatRoute({ application, table: kind === 'object' ? 'objects' : kind, item: name });
}

/** The bar compares with the longest in the table. */
function Age({ seconds, longestS }: { seconds: number; longestS: number }) {
  return (
    <span class="age" style={{ '--share': `${longestS === 0 ? 0 : (100 * seconds) / longestS}%` }}>
      {formatDuration(seconds)}
    </span>
  );
}

function UserOf({ row: { userName, sessionId }, application }: { row: SingleCallRow; application: string }) {
  const name = userName ?? '(unknown)';
  if (sessionId === null) return <Cut text={name} />;
  return (
    <a href={formatRoute({ application, table: 'sessions', item: sessionId })} aria-label={name}>
      <Cut text={name} />
    </a>
  );
}

/** Why the role `metrics` does not see something. `what`: e.g. `A single session needs`. */
export function NeedsRole({ what, class: name }: { what: string; class?: 'empty' | 'note' }) {
  return (
    <p class={name}>
      {what} the role <code>sessions</code>; you have the role <code>metrics</code>.
    </p>
  );
}

/** For the role `metrics`: the number of sessions, without identities. */
function HiddenSessions({ application: { sessions } }: { application: LiveApplication }) {
  const types = ['REST', 'COMET_WEBSOCKET', 'COMET_LONG_POLLING'] as const;
  return (
    <div class="hidden-sessions">
      <NeedsRole what="User names, addresses and single sessions need" />
      <FigureList
        figures={types.map((type) => {
          return { def: 'now.sessions', label: describeConnection(type), value: formatCount(sessions[type]) };
        })}
      />
    </div>
  );
}
