/** The view of one name or session: what it did, over time, and for whom. It replaces the table and has its own URL. */
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { DEFINITIONS, type DefinitionKey } from '../base/definitions.ts';
import { formatCount, formatRate } from '../base/figures.ts';
import { DataTable, type TableProps } from './data-table.tsx';
import { explain } from './explanations.tsx';
import { type Figure, FigureList } from './figure-list.tsx';
import { CsvButton } from './filtered-table.tsx';
import { formatFailed, formatTime } from './format.ts';
import { ItemCharts } from './item-charts.tsx';
import { rowsOfSession, selectErrorTime, selectTimerFacts } from './item-facts.ts';
import type {
  CallRow,
  ItemDetails,
  LiveApplication,
  MetricsDocument,
  ObjectRow,
  SessionRow,
  SingleCallRow,
  TableKind,
} from './live-data.ts';
import type { ItemState, PageState } from './page-state.ts';
import { formatRoute } from './route.ts';
import { parseCalls } from './rows.ts';
import {
  createCallerColumns,
  describeConnection,
  describeUser,
  OBSERVER_COLUMNS,
  RUNNING_COLUMNS,
  RUNNING_COLUMNS_OF_NAME,
  SESSION_CALL_COLUMNS,
  SESSION_OBJECT_COLUMNS,
  SLOWEST_COLUMNS,
  SLOWEST_COLUMNS_OF_NAME,
} from './table-columns.ts';
import { type Column, sortRows, type TableView } from './table-model.ts';
import { formatCallHash, formatUserHash, TABLES } from './tables.tsx';

export interface ItemProps {
  readonly state: PageState;
  readonly onView: (change: Partial<TableView>) => void;
  readonly application: LiveApplication;
  readonly nowMs: number;
}

export function ItemView({ state, application, nowMs, onView }: ItemProps) {
  const { table, item: name = '' } = state.route;
  const isHidden = table === 'sessions' && state.live?.role !== 'sessions';
  const item = state.item?.key === `${table}/${name}` ? state.item : undefined;
  const row = findRow(state, application, name);
  return (
    <article class="item">
      <a class="back" href={formatRoute({ application: application.name, table })}>
        ‹ All {TABLES[table].name}
      </a>
      <Title text={table === 'sessions' ? describeSession(row as SessionRow | undefined) : name} />
      {isHidden && (
        <p class="empty">
          A single session needs the role <code>sessions</code>; you have the role <code>metrics</code>.
        </p>
      )}
      {!isHidden && item === undefined && <p class="empty">Reading …</p>}
      {item?.isGone === true && <p class="gone">{describeGone(table, item)}</p>}
      {item?.document !== undefined && (
        <Body {...{ state, application, name, row, nowMs, onView }} document={item.document} details={item.details} />
      )}
    </article>
  );
}

function describeSession(row: SessionRow | undefined): string {
  return row === undefined || row.userName === null ? 'Session of an unknown user' : describeUser(row);
}

interface BodyProps extends ItemProps {
  readonly name: string;
  readonly row: unknown;
  readonly document: MetricsDocument;
  /** Undefined while they could not be read. */
  readonly details: ItemDetails | undefined;
}

function Body(props: BodyProps) {
  const { state, application, name, row, document, nowMs, details, onView } = props;
  const { table, view } = state.route;
  const shared = { application, nowMs, view, onView, of: name };
  if (table === 'sessions') {
    return (
      <>
        <SessionBody {...shared} row={row as SessionRow | undefined} document={document} />
        {details && <SingleCalls {...{ ...shared, state, details }} lists={LISTS_OF_SESSION} hrefOf={formatCallHash} />}
      </>
    );
  }
  const isObject = table === 'objects';
  return (
    <>
      {isObject ? (
        <ObjectBody name={name} row={row as ObjectRow | undefined} document={document} />
      ) : (
        <CallBody {...{ document, details, nowMs }} name={`${table}.${name}`} row={row as CallRow | undefined} />
      )}
      {details && (
        <>
          <ItemCharts {...{ details, isObject, nowMs }} marks={state.marks} />
          <Callers {...{ ...shared, details, isObject }} />
          <SingleCalls {...{ ...shared, state, details }} lists={LISTS_OF_NAME} hrefOf={formatUserHash} />
        </>
      )}
      <Reading defs={isObject ? OBJECT_READING : CALL_READING} />
    </>
  );
}

const CALL_READING = ['call.name', 'timer.window', 'timer.m1', 'call.errors'] as const;
const OBJECT_READING = ['object.subscriptions', 'object.values', 'object.rate'] as const;

/** What a list of the view needs besides its rows. */
interface ListProps extends Omit<ItemProps, 'state'> {
  readonly view: TableView;
  /** The name or session of the view, for names of files. */
  readonly of: string;
}

/** As in src/monitor/live/item-document.ts. */
const MAX_CALLERS = 100;

interface PartProps extends ListProps {
  readonly details: ItemDetails;
}

/** The current sessions that call the name, or monitor or receive the object. */
function Callers({ details: { callers }, isObject, ...list }: PartProps & { isObject: boolean }) {
  if (callers === null) {
    return (
      <p class="note">
        Callers and single calls need the role <code>sessions</code>; you have the role <code>metrics</code>.
      </p>
    );
  }
  // The port sends no more.
  const isCut = callers.length === MAX_CALLERS;
  return (
    <List
      {...list}
      name="callers"
      caption={`${isObject ? 'Who receives it' : 'Who calls it'}${isCut ? `: the ${callers.length} with the most` : ''}`}
      columns={isObject ? OBSERVER_COLUMNS : createCallerColumns(callers)}
      rows={callers}
      sortedBy="count"
      keyOf={({ id }) => id}
      href={({ id }) => formatRoute({ application: list.application.name, table: 'sessions', item: id })}
      emptyText={isObject ? 'No current session has received it.' : 'No current session has called it.'}
    />
  );
}

interface SingleCallsProps extends PartProps {
  readonly state: PageState;
  readonly lists: readonly CallList[];
  readonly hrefOf: (row: SingleCallRow, application: string) => string;
}

interface CallList {
  readonly key: 'running' | 'slowest';
  readonly title: string;
  readonly columns: readonly Column<SingleCallRow>[];
  readonly emptyText: string;
}

const RUNNING = { key: 'running', title: 'Running now', emptyText: 'Nothing is running.' } as const;
const SLOWEST = {
  key: 'slowest',
  title: 'Slowest of the hour',
  emptyText: 'None was among the slowest calls of its minute.',
} as const;
/** The first column is what the reader does not know yet. */
const LISTS_OF_SESSION: readonly CallList[] = [
  { ...RUNNING, columns: RUNNING_COLUMNS },
  { ...SLOWEST, columns: SLOWEST_COLUMNS },
];
const LISTS_OF_NAME: readonly CallList[] = [
  { ...RUNNING, columns: RUNNING_COLUMNS_OF_NAME },
  { ...SLOWEST, columns: SLOWEST_COLUMNS_OF_NAME },
];

function SingleCalls({ details, state, lists, hrefOf, ...list }: SingleCallsProps) {
  const timeoutS = state.live?.clientTimeoutSeconds ?? 0;
  return lists.map(({ key, title, columns, emptyText }) => {
    const calls = details[key];
    if (calls === null) return null;
    return (
      <List
        key={key}
        {...{ ...list, columns, emptyText }}
        name={key}
        caption={title}
        rows={parseCalls(calls, timeoutS)}
        sortedBy="duration"
        keyOf={(row) => row.key}
        href={(row) => hrefOf(row, list.application.name)}
      />
    );
  });
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

interface CallBodyProps {
  readonly name: string;
  readonly row: CallRow | undefined;
  readonly document: MetricsDocument;
  readonly details: ItemDetails | undefined;
  readonly nowMs: number;
}

function CallBody({ name, row, document, details, nowMs }: CallBodyProps) {
  const failing = selectErrorTime(details?.minutes ?? [], nowMs);
  const timer = document.timers[name] ?? {};
  const errors = Number(document.meters[`${name}.errors`]?.count ?? 0);
  return (
    <>
      <FigureList
        figures={[
          { def: 'call.count', label: 'Calls', value: formatCount(Number(timer.count ?? 0)) },
          {
            def: 'call.errors',
            label: 'Errors',
            value: row === undefined ? formatCount(errors) : formatFailed(errors, row.ended),
            isBad: errors > 0,
          },
          ...(failing === undefined ? [] : [failing]),
          ...(details?.statuses ?? []).map(
            ({ status, count }): Figure => ({
              def: 'call.status',
              label: describeStatus(status),
              value: formatCount(count),
            }),
          ),
          ...selectTimerFacts(timer, 'timer.window'),
        ]}
      />
    </>
  );
}

/** E.g. `Status 503`; other keys are words, e.g. `no answer`. */
function describeStatus(status: string): string {
  return /^\d/.test(status) ? `Status ${status}` : status;
}

function ObjectBody({ name, row, document }: { name: string; row: ObjectRow | undefined; document: MetricsDocument }) {
  const values = document.meters[`object.${name}.newValues`] ?? {};
  const subscriptions = document.counters[`object.${name}.subscriptions`]?.count ?? row?.subscriptions ?? 0;
  return (
    <>
      <FigureList
        figures={[
          { def: 'object.subscriptions', label: 'Subscriptions', value: formatCount(subscriptions) },
          { def: 'object.values', label: 'Values', value: formatCount(Number(values.count ?? row?.values ?? 0)) },
          {
            def: 'object.rate',
            label: 'Values /s, 1 min',
            value: formatRate(Number(values.m1_rate ?? row?.rate ?? 0)),
          },
          { def: 'object.rate', label: 'Values /s, 5 min', value: formatRate(Number(values.m5_rate ?? 0)) },
          { def: 'object.rate', label: 'Values /s, 15 min', value: formatRate(Number(values.m15_rate ?? 0)) },
        ]}
      />
    </>
  );
}

interface SessionBodyProps extends ListProps {
  readonly row: SessionRow | undefined;
  readonly document: MetricsDocument;
}

function SessionBody({ row, document, ...list }: SessionBodyProps) {
  const { nowMs } = list;
  const time = (iso: string) => formatTime(Date.parse(iso), nowMs);
  const { calls, objects } = useMemo(() => rowsOfSession(document), [document]);
  const facts: Figure[] =
    row === undefined
      ? []
      : [
          { def: 'session.connection', label: 'Connection', value: describeConnection(row.connectionType) },
          { def: 'session.since', label: 'Since', value: time(row.createTime) },
          { def: 'session.active', label: 'Last activity', value: time(row.lastActivityTime) },
          { def: 'session.address', label: 'Address', value: row.remoteAddress },
          { def: 'session.requests', label: 'Requests', value: formatCount(row.requests) },
          {
            def: 'session.errors',
            label: 'Errors',
            value: formatFailed(row.errors, row.requests),
            isBad: row.errors > 0,
          },
        ];
  return (
    <>
      <FigureList figures={facts} />
      <List
        {...list}
        name="calls"
        caption="Calls of the session"
        columns={SESSION_CALL_COLUMNS}
        rows={calls}
        sortedBy="count"
        keyOf={({ kind, name }) => `${kind} ${name}`}
        emptyText="This session has called nothing."
      />
      <List
        {...list}
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

interface NamedListProps<Row> extends ListProps, Omit<TableProps<Row>, 'shown' | 'sort' | 'onSort' | 'nowMs'> {
  /** In the link. */
  readonly name: string;
  readonly sortedBy: string;
}

/** A table below its title, without a filter. */
function List<Row>({ name, sortedBy, view, onView, of, application: _, ...table }: NamedListProps<Row>) {
  const { caption, rows, columns } = table;
  const chosen = view.lists[name];
  const sort = useMemo(() => chosen ?? { key: sortedBy, isDescending: true }, [chosen, sortedBy]);
  const shown = useMemo(() => sortRows(rows, columns, sort), [rows, columns, sort]);
  return (
    <>
      <div class="table-tools">
        <h4>{caption}</h4>
        <CsvButton name={`${caption} ${of}`} columns={columns} rows={shown} />
      </div>
      <DataTable
        {...table}
        shown={shown}
        sort={sort}
        onSort={(next) => onView({ lists: { ...view.lists, [name]: next } })}
      />
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
