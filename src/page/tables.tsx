/** The tables and their tabs. */
import { formatCount, formatDuration } from '../base/figures.ts';
import { DataTable } from './data-table.tsx';
import { Term } from './explanations.tsx';
import type {
  CallRow,
  LiveApplication,
  ObjectRow,
  PathRow,
  SessionRow,
  SingleCallRow,
  TableKind,
} from './live-data.ts';
import type { PageState } from './page-state.ts';
import { PERSONAL_TABLES, toHash } from './route.ts';
import { Spark } from './spark.tsx';
import {
  CALL_COLUMNS,
  describeConnection,
  describeUser,
  measuredSteps,
  OBJECT_COLUMNS,
  PATH_COLUMNS,
  RUNNING_COLUMNS,
  SESSION_COLUMNS,
  SLOWEST_COLUMNS,
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

const hasErrors = ({ errors }: CallRow | SessionRow) => errors > 0;
const nameOf = ({ name }: CallRow | ObjectRow) => name;
const idOf = ({ id }: SessionRow) => id;
const pathOf = ({ path }: PathRow) => path;
const keyOf = ({ key }: SingleCallRow) => key;
const singleCallText = (row: SingleCallRow) => `${row.name} ${row.userName ?? ''} ${row.remoteAddress}`;
const sessionText = (row: SessionRow) =>
  `${describeUser(row)} ${describeConnection(row.connectionType)} ${row.remoteAddress}`;

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
  const { kind } = table;
  const toItem = (item: string) => toHash({ application: application.name, table: kind, item });
  const shared = { caption: TABLE_NAMES[kind], nowMs };
  switch (kind) {
    case 'rpc':
    case 'sba':
      return (
        <DataTable
          key={kind}
          {...shared}
          columns={CALL_COLUMNS}
          rows={table.rows as readonly CallRow[]}
          sortedBy="rate"
          hasErrors={hasErrors}
          filterText={nameOf}
          keyOf={nameOf}
          href={({ name }) => toItem(name)}
          cells={{ spark: (row) => <Spark values={measuredSteps(row, live?.seq ?? 0)} /> }}
          emptyText={`No ${kind === 'rpc' ? 'RPC' : 'SBA RPC'} has been called yet.`}
        />
      );
    case 'objects':
      return (
        <DataTable
          key={kind}
          {...shared}
          columns={OBJECT_COLUMNS}
          rows={table.rows as readonly ObjectRow[]}
          sortedBy="rate"
          filterText={nameOf}
          keyOf={nameOf}
          href={({ name }) => toItem(name)}
          emptyText="No object has been monitored or read yet."
        />
      );
    case 'sessions':
      return (
        <DataTable
          key={kind}
          {...shared}
          columns={SESSION_COLUMNS}
          rows={table.rows as readonly SessionRow[]}
          sortedBy="lastActivityTime"
          hasErrors={hasErrors}
          filterText={sessionText}
          keyOf={idOf}
          href={({ id }) => toItem(id)}
          emptyText="Nobody is logged in."
        />
      );
    case 'running':
    case 'slowest':
      return (
        <SingleCalls
          key={kind}
          {...shared}
          kind={kind}
          rows={table.rows as readonly SingleCallRow[]}
          application={application.name}
        />
      );
    case 'unclassified':
      return (
        <DataTable
          key={kind}
          {...shared}
          columns={PATH_COLUMNS}
          rows={table.rows as readonly PathRow[]}
          sortedBy="count"
          filterText={pathOf}
          keyOf={pathOf}
          href={() => toItem('')}
          emptyText="Every answered request was a call, or belonged to the Comet endpoint."
        />
      );
  }
}

interface SingleCallsProps {
  readonly kind: 'running' | 'slowest';
  readonly caption: string;
  readonly rows: readonly SingleCallRow[];
  readonly application: string;
  readonly nowMs: number;
}

/** Running calls, or the slowest ended ones. A row links to its name, and its user to the session. */
function SingleCalls({ kind, rows, application, ...shared }: SingleCallsProps) {
  const longestS = rows.reduce((most, { duration }) => Math.max(most, duration), 0);
  return (
    <DataTable
      {...shared}
      columns={kind === 'running' ? RUNNING_COLUMNS : SLOWEST_COLUMNS}
      rows={rows}
      sortedBy="duration"
      filterText={singleCallText}
      keyOf={keyOf}
      href={(row) => toCallHash(row, application)}
      cells={{
        duration: ({ duration }) => <Age seconds={duration} longestS={longestS} />,
        userName: (row) => <UserOf row={row} application={application} />,
      }}
      emptyText={kind === 'running' ? 'No calls are running.' : 'No call has ended in the last hour.'}
    />
  );
}

/** Calls of kind `session` have no view. */
function toCallHash({ kind, name }: SingleCallRow, application: string): string {
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

function UserOf({ row: { userName, sessionId }, application }: { row: SingleCallRow; application: string }) {
  const name = userName ?? '(unknown)';
  if (sessionId === null) return <>{name}</>;
  return <a href={toHash({ application, table: 'sessions', item: sessionId })}>{name}</a>;
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
              <Term def="now.sessions">{describeConnection(type)}</Term>
            </dt>
            <dd>{formatCount(sessions[type])}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
