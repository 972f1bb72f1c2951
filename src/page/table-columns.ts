/** The columns of the tables: the values to sort by, and the texts to show. */
import type { DefinitionKey } from '../base/definitions.ts';
import { formatCount, formatDuration, formatPercent, formatRate, formatShare } from '../base/figures.ts';
import { describeConnection, describeUser, formatFailed, formatTime, formatUtc } from './format.ts';
import type { SessionRows } from './item-facts.ts';
import type { CallerRow, CallRow, ConnectionType, RowsOf, SessionRow, SingleCallRow, Target } from './live-data.ts';
import type { Column } from './table-model.ts';

/** Steps of 5 s in one count of a spark line. */
const STEPS_PER_COUNT = 5;

/** Widths for the usual texts. */
const NUMBER_PX = 72;
const ERRORS_PX = 124;
const TIME_PX = 96;
const TEXT_PX = 140;

/** The spark line, with null for the time before the sidecar's start. `seq` is its newest step. */
export function measuredSteps({ spark }: CallRow, seq: number): readonly (number | null)[] {
  const unmeasured = spark.length - Math.floor(seq / STEPS_PER_COUNT);
  return spark.map((count, at) => (at < unmeasured ? null : count));
}

export const CALL_COLUMNS: readonly Column<CallRow>[] = [
  text('name', 'Name', 'call.name'),
  number('count', 'Calls', 'call.count', formatCount, { leaves: 3 }),
  number('rate', 'Rate /s', 'call.rate', formatRate, { leaves: 4, widthPx: 84 }),
  number('p50', 'p50', 'call.p50', formatDuration, { leaves: 2 }),
  number('p99', 'p99', 'call.p99', formatDuration),
  failed('call.errors', ({ ended }) => ended),
  {
    ...{ key: 'spark', label: 'Last 5 min', def: 'call.spark', widthPx: 100, isNumber: true, leaves: 1 },
    value: ({ spark }) => spark.reduce((total, count) => total + count, 0),
    text: ({ spark }) => spark.join(', '),
  },
];

export const OBJECT_COLUMNS: readonly Column<RowsOf['objects'][number]>[] = [
  text('name', 'Object', 'object.name'),
  number('subscriptions', 'Subscriptions', 'object.subscriptions', formatCount, { widthPx: 116, leaves: 2 }),
  number('values', 'Values', 'object.values', formatCount, { leaves: 1 }),
  number('rate', 'Values /s', 'object.rate', formatRate, { widthPx: 92 }),
];

export const SESSION_COLUMNS: readonly Column<SessionRow>[] = [
  text('userName', 'User', 'session.user', { text: describeUser }),
  connection({ leaves: 2 }),
  text('remoteAddress', 'Address', 'session.address', { leaves: 1 }),
  time('createTime', 'Since', 'session.since', { leaves: 3, widthPx: 148 }),
  time('lastActivityTime', 'Last activity', 'session.active', { leaves: 4, widthPx: 112 }),
  number('requests', 'Requests', 'session.requests', formatCount, { widthPx: 92 }),
  failed('session.errors', ({ requests }) => requests),
];

export const PATH_COLUMNS: readonly Column<RowsOf['unclassified'][number]>[] = [
  text('path', 'Path', 'path.name'),
  number('count', 'Requests', 'path.count', formatCount, { widthPx: 92 }),
  number('p95', 'p95', 'path.p95', formatDuration),
];

export const TARGET_COLUMNS: readonly Column<Target>[] = [
  text('name', 'Target', 'target.name'),
  number('within', 'Within', 'target.within', formatDuration, { leaves: 2 }),
  number('share', 'Wanted', 'target.share', formatShare, { leaves: 4 }),
  {
    ...{ key: 'minute', label: 'Last minute', def: 'target.minute', widthPx: 164, isNumber: true, leaves: 3 },
    value: ({ minute }) => shareOf(minute),
    text: ({ minute }) => formatShareOf(minute),
  },
  {
    ...{ key: 'month', label: 'This month', def: 'target.month', widthPx: 100, isNumber: true },
    value: ({ month }) => shareOf(month),
    text: ({ month }) => formatShareOrNone(shareOf(month)),
    detail: ({ month }) => formatShareOf(month),
  },
  {
    ...{ key: 'used', label: 'Allowance used', def: 'target.used', widthPx: 128, isNumber: true },
    value: ({ allowanceUsed, month: { missed } }) => allowanceUsed ?? (missed === 0 ? 0 : Number.MAX_VALUE),
    text: ({ allowanceUsed }) => (allowanceUsed === null ? 'none allowed' : formatShare(allowanceUsed)),
    csv: ({ allowanceUsed }) => String(allowanceUsed ?? ''),
    isBad: ({ allowanceUsed }) => allowanceUsed !== null && allowanceUsed >= 1,
  },
  {
    ...{ key: 'state', label: 'State', def: 'target.state', widthPx: 76, isNumber: false },
    ...{ value: describeState, text: describeState, isBad: (row) => describeState(row) === 'missed' },
  },
  {
    ...{ key: 'hour', label: 'Last hour', def: 'target.hour', widthPx: 100, isNumber: true, leaves: 1 },
    value: ({ hour }) => hour.at(-1) ?? null,
    text: describeHour,
  },
];

/** Null without a call. */
function shareOf({ met, missed }: Target['month']): number | null {
  return met + missed === 0 ? null : met / (met + missed);
}

function formatShareOrNone(share: number | null): string {
  return share === null ? '–' : formatShare(share);
}

/** `98 % (98 of 100)`. */
function formatShareOf({ met, missed }: Target['month']): string {
  const share = shareOf({ met, missed });
  return share === null ? '–' : `${formatShare(share)} (${formatCount(met)} of ${formatCount(met + missed)})`;
}

export function describeHour({ hour }: Target): string {
  const known = hour.filter((share) => share !== null);
  return known.length === 0 ? 'no calls' : `lowest minute ${formatShare(Math.min(...known))}`;
}

function describeState(target: Target): string {
  const share = shareOf(target.month);
  return share === null ? 'no calls' : share < target.share ? 'missed' : 'met';
}

const isLate = ({ isLate }: SingleCallRow) => isLate;

export const RUNNING_COLUMNS: readonly Column<SingleCallRow>[] = [
  text('name', 'Name', 'single.name'),
  number('duration', 'Age', 'single.duration', formatDuration, { isBad: isLate }),
  text('userName', 'User', 'single.user', { leaves: 4 }),
  text('remoteAddress', 'Address', 'session.address', { leaves: 2 }),
  time('startTime', 'Since', 'single.since', { leaves: 1 }),
];

/** Server time, and beside it what the client took. */
const TOOK_COLUMNS: readonly Column<SingleCallRow>[] = [
  number('duration', 'Took', 'single.duration', formatDuration, { isBad: isLate }),
  {
    ...{ key: 'clientWait', label: 'Client wait', def: 'single.wait', widthPx: 96, isNumber: true, leaves: 5 },
    value: ({ clientWait = 0 }) => clientWait,
    text: ({ clientWait = 0 }) => formatDuration(clientWait === 0 ? null : clientWait),
  },
];

export const SLOWEST_COLUMNS: readonly Column<SingleCallRow>[] = [
  ...RUNNING_COLUMNS.flatMap((column) => (column.key === 'duration' ? TOOK_COLUMNS : [column])),
  {
    ...{ key: 'outcome', label: 'Outcome', def: 'single.outcome', widthPx: 184, isNumber: false, leaves: 3 },
    ...{ value: describeOutcome, text: describeOutcome },
  },
];

/** The calls of one name: its user comes first. */
const ofName = (columns: readonly Column<SingleCallRow>[]) => {
  const user = columns.filter(({ key }) => key === 'userName').map(({ leaves: _, ...column }) => column);
  return [...user, ...columns.filter(({ key }) => key !== 'userName' && key !== 'name')];
};

export const RUNNING_COLUMNS_OF_NAME = ofName(RUNNING_COLUMNS);
export const SLOWEST_COLUMNS_OF_NAME = ofName(SLOWEST_COLUMNS);

const CALLER_COLUMNS: readonly Column<CallerRow>[] = [
  text('userName', 'User', 'session.user', { text: describeUser }),
  text('remoteAddress', 'Address', 'session.address', { leaves: 3 }),
  connection({ leaves: 1 }),
];

/** With each caller's share of the calls of all. */
export function createCallerColumns(callers: readonly CallerRow[]): readonly Column<CallerRow>[] {
  const all = callers.reduce((sum, { count }) => sum + count, 0);
  const share = ({ count }: CallerRow) => (all === 0 ? 0 : count / all);
  return [
    ...CALLER_COLUMNS,
    number('count', 'Calls', 'caller.calls', formatCount),
    {
      ...{ key: 'share', label: 'Share', def: 'caller.share', widthPx: NUMBER_PX, isNumber: true, leaves: 2 },
      ...{ value: share, text: (row) => formatPercent(share(row)) },
    },
    failed('caller.errors', ({ count }) => count),
  ];
}

export const OBSERVER_COLUMNS: readonly Column<CallerRow>[] = [
  ...CALLER_COLUMNS,
  number('subscriptions', 'Subscriptions', 'object.subscriptions', formatCount, { widthPx: 116 }),
  number('count', 'Values', 'object.values', formatCount),
];

export const SESSION_CALL_COLUMNS: readonly Column<SessionRows['calls'][number]>[] = [
  text('name', 'Name', 'call.name'),
  text('kind', 'Kind', 'call.name', { leaves: 1, widthPx: 64 }),
  number('count', 'Calls', 'call.count', formatCount),
  number('p50', 'p50', 'session.timer', formatDuration, { leaves: 2 }),
  number('p99', 'p99', 'session.timer', formatDuration, { leaves: 3 }),
  failed('session.errors', ({ count }) => count),
];

export const SESSION_OBJECT_COLUMNS: readonly Column<SessionRows['objects'][number]>[] = [
  text('name', 'Object', 'object.name'),
  number('subscriptions', 'Subscriptions', 'object.subscriptions', formatCount, { widthPx: 116, leaves: 1 }),
  number('values', 'Values', 'object.values', formatCount),
];

/** E.g. `ok 200, too late`. */
function describeOutcome({ status, outcome, isLate }: SingleCallRow): string {
  return `${(outcome ?? '').replace('_', ' ')}${status ? ` ${status}` : ''}${isLate ? ', too late' : ''}`;
}

/** What differs from the other columns of the same kind. */
type More<Row> = Partial<Pick<Column<Row>, 'leaves' | 'widthPx' | 'isBad' | 'text'>>;

function connection<Row extends { readonly connectionType: ConnectionType }>(more: More<Row>): Column<Row> {
  const value = ({ connectionType }: Row) => describeConnection(connectionType);
  const column = { key: 'connection', label: 'Connection', def: 'session.connection', widthPx: 150 } as const;
  return { ...column, isNumber: false, value, text: value, ...more };
}

/** The members of a row whose value is a `Value`. */
type KeyFor<Row, Value> = { [Key in keyof Row]: Row[Key] extends Value ? Key : never }[keyof Row] & string;

export function text<Row>(
  key: KeyFor<Row, string | null>,
  label: string,
  def: DefinitionKey,
  more?: More<Row>,
): Column<Row> {
  const value = (row: Row) => row[key] as string | null;
  const column = { key, label, def, widthPx: TEXT_PX, isCut: true, isNumber: false };
  return { ...column, value, text: (row) => value(row) ?? '(unknown)', ...more };
}

/** `format` must accept null where the member may be null. */
export function number<Row>(
  key: KeyFor<Row, number | null>,
  label: string,
  def: DefinitionKey,
  format: (value: number) => string,
  more?: More<Row>,
): Column<Row> {
  const value = (row: Row) => row[key] as number;
  return { key, label, def, widthPx: NUMBER_PX, isNumber: true, value, text: (row) => format(value(row)), ...more };
}

/** Failed calls, with their share of all ended calls; highlighted above 0. */
function failed<Row extends { readonly errors: number }>(def: DefinitionKey, ended: (row: Row) => number): Column<Row> {
  return {
    ...{ key: 'errors', label: 'Errors', def, widthPx: ERRORS_PX, isNumber: true },
    value: ({ errors }) => errors,
    text: (row) => formatFailed(row.errors, ended(row)),
    isBad: ({ errors }) => errors > 0,
  };
}

/** Sorted as numbers, which is faster than as strings, and shown in the reader's time zone. */
function time<Row>(key: KeyFor<Row, string>, label: string, def: DefinitionKey, more: More<Row>): Column<Row> {
  const value = (row: Row) => Date.parse(row[key] as string);
  return {
    ...{ key, label, def, widthPx: TIME_PX, isNumber: false, value },
    text: (row, nowMs) => formatTime(value(row), nowMs),
    csv: (row) => row[key] as string,
    detail: (row, nowMs) => `${formatTime(value(row), nowMs)} (${formatUtc(value(row))})`,
    ...more,
  };
}
