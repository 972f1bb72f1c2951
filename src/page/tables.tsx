/** The four tables and their tabs. */
import { useMemo } from 'preact/hooks';
import { CALL_COLUMNS, measuredStepsOf, OBJECT_COLUMNS, toConnection, toSessionColumns, toUser } from './columns.ts';
import { DataTable } from './data-table.tsx';
import { Term } from './explanations.tsx';
import { toCount } from './format.ts';
import type { CallRow, LiveApplication, ObjectRow, SessionRow, TableKind } from './live-data.ts';
import type { PageState } from './page-state.ts';
import { toHash } from './route.ts';
import { Spark } from './spark.tsx';

export const TABLE_NAMES: Readonly<Record<TableKind, string>> = {
  rpc: 'RPCs',
  sba: 'SBAs',
  objects: 'Objects',
  sessions: 'Sessions',
};

const BY_RATE = { key: 'rate', isDescending: true };
const BY_ACTIVITY = { key: 'active', isDescending: true };

const callHasErrors = (row: CallRow) => row[2] > 0;
const sessionHasErrors = (row: SessionRow) => row[7] > 0;
const nameOf = (row: readonly [string, ...unknown[]]) => row[0];
const sessionText = (row: SessionRow) => `${toUser(row)} ${toConnection(row[2])} ${row[5]}`;

export interface TablesProps {
  readonly state: PageState;
  readonly application: LiveApplication;
  readonly nowMs: number;
}

export function Tabs({ state, application }: Pick<TablesProps, 'state' | 'application'>) {
  return (
    <nav class="tabs" aria-label="Tables">
      <ul>
        {(Object.keys(TABLE_NAMES) as TableKind[]).map((kind) => (
          <li key={kind}>
            <a
              href={toHash({ application: application.name, table: kind, item: undefined })}
              aria-current={state.route.table === kind ? 'page' : undefined}
            >
              {TABLE_NAMES[kind]}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

export function Table({ state, application, nowMs }: TablesProps) {
  const { route, table, live } = state;
  if (route.table === 'sessions' && live?.role !== 'sessions') return <HiddenSessions application={application} />;
  if (table === undefined || table.kind !== route.table || table.application !== application.name) {
    return <p class="empty">Reading {TABLE_NAMES[route.table]} …</p>;
  }
  const toItem = (item: string) => toHash({ application: application.name, table: route.table, item });
  switch (table.kind) {
    case 'rpc':
    case 'sba':
      return (
        <Calls
          key={table.kind}
          kind={table.kind}
          rows={table.rows as readonly CallRow[]}
          toItem={toItem}
          seq={live?.seq ?? 0}
        />
      );
    case 'objects':
      return <Objects rows={table.rows as readonly ObjectRow[]} toItem={toItem} />;
    case 'sessions':
      return <Sessions rows={table.rows as readonly SessionRow[]} toItem={toItem} nowMs={nowMs} />;
  }
}

interface RowsProps<Row> {
  readonly rows: readonly Row[];
  readonly toItem: (item: string) => string;
}

function Calls({ kind, rows, toItem, seq }: RowsProps<CallRow> & { kind: 'rpc' | 'sba'; seq: number }) {
  return (
    <DataTable
      caption={TABLE_NAMES[kind]}
      columns={CALL_COLUMNS}
      rows={rows}
      initialSort={BY_RATE}
      hasErrors={callHasErrors}
      filterText={nameOf}
      keyOf={nameOf}
      href={(row) => toItem(row[0])}
      cells={{ steps: (row) => <Spark values={measuredStepsOf(row, seq)} /> }}
      emptyText={`No ${kind === 'rpc' ? 'RPC' : 'SBA RPC'} has been called yet.`}
    />
  );
}

function Objects({ rows, toItem }: RowsProps<ObjectRow>) {
  return (
    <DataTable
      caption={TABLE_NAMES.objects}
      columns={OBJECT_COLUMNS}
      rows={rows}
      initialSort={BY_RATE}
      filterText={nameOf}
      keyOf={nameOf}
      href={(row) => toItem(row[0])}
      emptyText="No object has been monitored or read yet."
    />
  );
}

function Sessions({ rows, toItem, nowMs }: RowsProps<SessionRow> & { nowMs: number }) {
  const day = new Date(nowMs).toDateString();
  // Only a new day changes the texts of the columns.
  const columns = useMemo(() => toSessionColumns(nowMs), [day]);
  return (
    <DataTable
      caption={TABLE_NAMES.sessions}
      columns={columns}
      rows={rows}
      initialSort={BY_ACTIVITY}
      hasErrors={sessionHasErrors}
      filterText={sessionText}
      keyOf={nameOf}
      href={(row) => toItem(row[0])}
      emptyText="Nobody is logged in."
    />
  );
}

/** For the role `metrics`: the number of sessions, without identities. */
function HiddenSessions({ application: { sessions } }: { application: LiveApplication }) {
  const types = ['REST', 'COMET_WEBSOCKET', 'COMET_LONG_POLLING'] as const;
  return (
    <div class="hidden-sessions">
      <p>
        User names, addresses and single sessions need the role <code>sessions</code>; you have the role{' '}
        <code>metrics</code>.
      </p>
      <dl class="facts">
        {types.map((type) => (
          <div key={type} data-def="now.sessions">
            <dt>
              <Term def="now.sessions">{toConnection(type)}</Term>
            </dt>
            <dd>{toCount(sessions[type])}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
