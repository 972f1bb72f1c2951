/** The tables and their tabs. */
import { useMemo } from 'preact/hooks';
import { formatCount, formatDuration } from '../base/figures.ts';
import { DataTable } from './data-table.tsx';
import { Term } from './explanations.tsx';
import type {
  CallRow,
  LiveApplication,
  ObjectRow,
  PathRow,
  RunningRow,
  SessionRow,
  SlowRow,
  TableKind,
} from './live-data.ts';
import type { PageState } from './page-state.ts';
import { PERSONAL_TABLES, toHash } from './route.ts';
import { Spark } from './spark.tsx';
import {
  CALL_COLUMNS,
  measuredStepsOf,
  OBJECT_COLUMNS,
  PATH_COLUMNS,
  toConnection,
  toSessionColumns,
  toSingleCallColumns,
  toUser,
} from './table-columns.ts';

export const TABLE_NAMES: Readonly<Record<TableKind, string>> = {
  rpc: 'RPCs',
  sba: 'SBAs',
  objects: 'Objects',
  sessions: 'Sessions',
  running: 'Running now',
  slowest: 'Slowest of the hour',
  unclassified: 'Not classified',
};

const BY_RATE = { key: 'rate', isDescending: true };
const BY_ACTIVITY = { key: 'active', isDescending: true };
const BY_DURATION = { key: 'duration', isDescending: true };
const BY_COUNT = { key: 'count', isDescending: true };

const callHasErrors = (row: CallRow) => row[2] > 0;
const sessionHasErrors = (row: SessionRow) => row[7] > 0;
const nameOf = (row: readonly [string, ...unknown[]]) => row[0];
const singleCallText = (row: RunningRow | SlowRow) => `${row[2]} ${row[3] ?? ''} ${row[5]}`;
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
  if (PERSONAL_TABLES.has(route.table) && live?.role !== 'sessions') {
    return route.table === 'sessions' ? <HiddenSessions application={application} /> : <Hidden />;
  }
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
    case 'running':
    case 'slowest':
      return (
        <SingleCalls
          key={table.kind}
          kind={table.kind}
          rows={table.rows as readonly (RunningRow | SlowRow)[]}
          application={application.name}
          clientTimeoutS={live?.clientTimeoutSeconds ?? 0}
          nowMs={nowMs}
        />
      );
    case 'unclassified':
      return <Paths rows={table.rows as readonly PathRow[]} href={toItem('')} />;
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

interface SingleCallsProps {
  readonly kind: 'running' | 'slowest';
  readonly rows: readonly (RunningRow | SlowRow)[];
  readonly application: string;
  readonly clientTimeoutS: number;
  readonly nowMs: number;
}

/** Running calls, or the slowest ended ones. A row links to its name, and its user to the session. */
function SingleCalls({ kind, rows, application, clientTimeoutS, nowMs }: SingleCallsProps) {
  const day = new Date(nowMs).toDateString();
  const columns = useMemo(() => toSingleCallColumns(kind, clientTimeoutS, nowMs), [kind, clientTimeoutS, day]);
  const longestS = rows.reduce((most, row) => Math.max(most, row[7]), 0);
  return (
    <DataTable
      caption={TABLE_NAMES[kind]}
      columns={columns}
      rows={rows}
      initialSort={BY_DURATION}
      filterText={singleCallText}
      keyOf={nameOf}
      href={(row) => toCallHash(row, application)}
      cells={{
        duration: (row) => <Age seconds={row[7]} longestS={longestS} />,
        user: (row) => <UserOf row={row} application={application} />,
      }}
      emptyText={kind === 'running' ? 'No calls are running.' : 'No call has ended in the last hour.'}
    />
  );
}

/** Calls of kind `session` have no view. */
function toCallHash([, kind, name]: RunningRow | SlowRow, application: string): string {
  if (kind === 'session') return toHash({ application, table: 'sessions', item: undefined });
  return toHash({ application, table: kind === 'object' ? 'objects' : kind, item: name });
}

/** The bar compares with the longest in the table. */
function Age({ seconds, longestS }: { seconds: number; longestS: number }) {
  return (
    <span class="age">
      <span class="age-bar" style={{ width: `${longestS === 0 ? 0 : (100 * seconds) / longestS}%` }} />
      <span class="age-text">{formatDuration(seconds)}</span>
    </span>
  );
}

function UserOf({ row, application }: { row: RunningRow | SlowRow; application: string }) {
  const [, , , userName, , , , , sessionId] = row;
  if (sessionId === null) return <>{userName ?? '(unknown)'}</>;
  return <a href={toHash({ application, table: 'sessions', item: sessionId })}>{userName ?? '(unknown)'}</a>;
}

/** Of all applications, since the start. */
function Paths({ rows, href }: { rows: readonly PathRow[]; href: string }) {
  return (
    <DataTable
      caption={TABLE_NAMES.unclassified}
      columns={PATH_COLUMNS}
      rows={rows}
      initialSort={BY_COUNT}
      filterText={nameOf}
      keyOf={nameOf}
      href={() => href}
      emptyText="Every answered request was a call, or belonged to the Comet endpoint."
    />
  );
}

function Hidden() {
  return (
    <p class="empty">
      Single calls and paths need the role <code>sessions</code>; you have the role <code>metrics</code>.
    </p>
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
            <dd>{formatCount(sessions[type])}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
