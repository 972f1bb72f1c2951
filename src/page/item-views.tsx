/** The view of one name or session: what it did, over time, and for whom. It replaces the table and has its own URL. */
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { DEFINITIONS, type DefinitionKey } from '../base/definitions.ts';
import { DataTable, type TableProps } from './data-table.tsx';
import { explain } from './explanations.tsx';
import { FigureList } from './figure-list.tsx';
import { CsvButton, useList } from './filtered-table.tsx';
import { describeUser } from './format.ts';
import { ItemCharts } from './item-charts.tsx';
import { rowsOfSession, selectCallFacts, selectObjectFacts, selectSessionFacts } from './item-facts.ts';
import {
  type CallRow,
  type ItemDetails,
  type LiveApplication,
  type MetricsDocument,
  parseCalls,
  type SessionRow,
  type SingleCallRow,
  type TableKind,
} from './live-data.ts';
import type { ItemState, PageState, Shown } from './page-state.ts';
import { formatRoute } from './route.ts';
import {
  createCallerColumns,
  OBSERVER_COLUMNS,
  RUNNING_COLUMNS_OF_NAME,
  SESSION_CALL_COLUMNS,
  SESSION_OBJECT_COLUMNS,
  SLOWEST_COLUMNS_OF_NAME,
} from './table-columns.ts';
import { NeedsRole, TABLES } from './tables.tsx';

export function ItemView(props: Shown) {
  const { state, live, application } = props;
  const { table, item: name = '' } = state.route;
  const isHidden = table === 'sessions' && live.role !== 'sessions';
  const item = state.item?.key === `${table}/${name}` ? state.item : undefined;
  const row = findRow(state, application, name);
  return (
    <article class="item">
      <a class="back" href={formatRoute({ application: application.name, table })}>
        ‹ All {TABLES[table].name}
      </a>
      <Title text={table === 'sessions' ? describeSession(row as SessionRow | undefined) : name} />
      {isHidden && <NeedsRole class="empty" what="A single session needs" />}
      {!isHidden && item === undefined && <p class="empty">Reading …</p>}
      {item?.isGone === true && <p class="gone">{describeGone(table, item)}</p>}
      {item?.document !== undefined && <Body {...props} {...item} row={row} document={item.document} />}
    </article>
  );
}

function describeSession(row: SessionRow | undefined): string {
  return row === undefined || row.userName === null ? 'Session of an unknown user' : describeUser(row);
}

interface BodyProps extends Shown {
  readonly row: unknown;
  readonly document: MetricsDocument;
  /** Undefined while they could not be read. */
  readonly details: ItemDetails | undefined;
}

function Body({ row, document, details, ...shown }: BodyProps) {
  const { state, nowMs } = shown;
  const { table, item: name = '' } = state.route;
  const [isSession, isObject] = [table === 'sessions', table === 'objects'];
  const figures = isSession
    ? selectSessionFacts(row as SessionRow | undefined, nowMs)
    : isObject
      ? selectObjectFacts(name, document)
      : selectCallFacts(`${table}.${name}`, row as CallRow | undefined, document, { details, nowMs });
  return (
    <>
      <FigureList figures={figures} />
      {isSession && <SessionLists {...shown} document={document} />}
      {details && !isSession && (
        <>
          <ItemCharts {...{ details, isObject, nowMs }} marks={state.marks} />
          <Callers {...shown} {...{ details, isObject }} />
        </>
      )}
      {details && <SingleCalls {...shown} {...{ details, isSession }} />}
      {!isSession && <Reading defs={isObject ? OBJECT_READING : CALL_READING} />}
    </>
  );
}

const CALL_READING = ['call.name', 'timer.window', 'timer.m1', 'call.errors'] as const;
const OBJECT_READING = ['object.subscriptions', 'object.values', 'object.rate'] as const;

/** As in src/monitor/live/live-tables.ts. */
const MAX_CALLERS = 100;

interface PartProps extends Shown {
  readonly details: ItemDetails;
}

/** The current sessions that call the name, or monitor or receive the object. */
function Callers({ details: { callers }, isObject, ...shown }: PartProps & { isObject: boolean }) {
  if (callers === null) return <NeedsRole class="note" what="Callers and single calls need" />;
  // The port sends no more.
  const isCut = callers.length === MAX_CALLERS;
  return (
    <List
      {...shown}
      name="callers"
      caption={`${isObject ? 'Who receives it' : 'Who calls it'}${isCut ? `: the ${callers.length} with the most` : ''}`}
      columns={isObject ? OBSERVER_COLUMNS : createCallerColumns(callers)}
      rows={callers}
      sortedBy="count"
      keyOf={({ id }) => id}
      href={({ id }) => formatRoute({ application: shown.application.name, table: 'sessions', item: id })}
      emptyText={isObject ? 'No current session has received it.' : 'No current session has called it.'}
    />
  );
}

/** Of one name: the first column is what the reader does not know yet. */
const SINGLE_CALLS = [
  { key: 'running', columnsOfName: RUNNING_COLUMNS_OF_NAME, emptyText: 'Nothing is running.' },
  {
    key: 'slowest',
    columnsOfName: SLOWEST_COLUMNS_OF_NAME,
    emptyText: 'None was among the slowest calls of its minute.',
  },
] as const;

function SingleCalls({ details, isSession, ...shown }: PartProps & { isSession: boolean }) {
  const { live, application } = shown;
  return SINGLE_CALLS.map(({ key, columnsOfName, emptyText }) => {
    const calls = details[key];
    if (calls === null) return null;
    const { name, columns, sortedBy, keyOf, href } = TABLES[key];
    return (
      <List
        key={key}
        {...{ ...shown, sortedBy, keyOf, emptyText }}
        name={key}
        caption={name}
        columns={isSession ? columns : columnsOfName}
        rows={parseCalls(calls, live.clientTimeoutSeconds)}
        href={(row) => (isSession ? href(row, application.name) : formatUserHash(row, application.name))}
      />
    );
  });
}

/** The session of the call, or all sessions if it has none. */
function formatUserHash({ sessionId }: SingleCallRow, application: string): string {
  return formatRoute({ application, table: 'sessions', item: sessionId ?? undefined });
}

/** Takes the focus, so that keyboard and screen reader users land here. */
function Title({ text }: { text: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <h3 ref={heading} tabIndex={-1} class="item-title">
      {text}
    </h3>
  );
}

function SessionLists({ document, ...shown }: Shown & { document: MetricsDocument }) {
  const { calls, objects } = useMemo(() => rowsOfSession(document), [document]);
  return (
    <>
      <List
        {...shown}
        name="calls"
        caption="Calls of the session"
        columns={SESSION_CALL_COLUMNS}
        rows={calls}
        sortedBy="count"
        keyOf={({ kind, name }) => `${kind} ${name}`}
        emptyText="This session has called nothing."
      />
      <List
        {...shown}
        name="objects"
        caption="Objects of the session"
        columns={SESSION_OBJECT_COLUMNS}
        rows={objects}
        sortedBy="subscriptions"
        keyOf={({ name }) => name}
        emptyText="This session monitors and reads no objects."
      />
    </>
  );
}

interface ListProps<Row> extends Shown, Omit<TableProps<Row>, 'shown' | 'sort' | 'onSort' | 'nowMs'> {
  /** In the link. */
  readonly name: string;
  readonly sortedBy: string;
}

/** A table below its title, without a filter. */
function List<Row>({ name, sortedBy, state, onView, ...table }: ListProps<Row>) {
  const { caption, columns } = table;
  const list = useList(name, sortedBy, table, { state, onView });
  return (
    <>
      <div class="table-tools">
        <h4>{caption}</h4>
        <CsvButton name={`${caption} ${state.route.item ?? ''}`} columns={columns} rows={list.shown} />
      </div>
      <DataTable {...table} {...list} />
    </>
  );
}

function Reading({ defs }: { defs: readonly DefinitionKey[] }) {
  return (
    <section class="reading" aria-label="How to read this">
      <h4>How to read this</h4>
      <ul>
        {defs.map((def) => (
          <li key={def}>
            <b>{DEFINITIONS[def].term}.</b> {explain(def)}
          </li>
        ))}
      </ul>
    </section>
  );
}

function findRow({ table, route }: PageState, application: LiveApplication, id: string): unknown {
  if (table === undefined || table.kind !== route.table || table.application !== application.name) return undefined;
  const rows = table.rows as readonly { readonly name?: string; readonly id?: string }[];
  return rows.find((row) => (route.table === 'sessions' ? row.id : row.name) === id);
}

function describeGone(table: TableKind, item: ItemState): string {
  const last = item.document === undefined ? '' : ' Its last numbers are below.';
  return table === 'sessions'
    ? `This session has ended.${last}`
    : `Nothing of this name has been seen since counting began.${last}`;
}
