/** The columns of the tables: the values to sort by, and the texts to show. */

import type { DefinitionKey } from '../base/definitions.ts';
import { formatCount, formatDuration, formatRate } from '../base/figures.ts';
import { formatFailed, formatTime } from './format.ts';
import type { CallRow, ConnectionType, ObjectRow, PathRow, SessionRow, SingleCallRow } from './live-data.ts';
import type { Column } from './table-model.ts';

/** Steps of 5 s in one count of a spark line. */
const STEPS_PER_COUNT = 5;

const CONNECTIONS: Readonly<Record<ConnectionType, string>> = {
  REST: 'REST',
  COMET_WEBSOCKET: 'Comet, WebSocket',
  COMET_LONG_POLLING: 'Comet, long-polling',
};

export function describeConnection(type: ConnectionType): string {
  return CONNECTIONS[type] ?? type;
}

/** E.g. `anna`, or `anna (unverified)` if nothing has proven the name. */
export function describeUser({ userName, verified }: Pick<SessionRow, 'userName' | 'verified'>): string {
  return `${userName ?? '(unknown)'}${verified ? '' : ' (unverified)'}`;
}

/** The spark line, with null for the time before the sidecar's start. `seq` is its newest step. */
export function measuredSteps({ spark }: CallRow, seq: number): readonly (number | null)[] {
  const unmeasured = spark.length - Math.floor(seq / STEPS_PER_COUNT);
  return spark.map((count, at) => (at < unmeasured ? null : count));
}

export const CALL_COLUMNS: readonly Column<CallRow>[] = [
  text('name', 'Name', 'call.name', 'wide'),
  minor(number('count', 'Calls', 'call.count', 'w-count', formatCount)),
  number('rate', 'Rate /s', 'call.rate', 'w-rate', formatRate),
  minor(number('p50', 'p50', 'call.p50', 'w-duration', formatDuration)),
  number('p99', 'p99', 'call.p99', 'w-duration', formatDuration),
  failed('call.errors', ({ ended }) => ended),
  {
    ...{ key: 'spark', label: 'Last 5 min', def: 'call.spark', width: 'w-spark', isNumber: true, isMinor: true },
    value: ({ spark }) => spark.reduce((total, count) => total + count, 0),
    text: ({ spark }) => spark.join(', '),
  },
];

export const OBJECT_COLUMNS: readonly Column<ObjectRow>[] = [
  text('name', 'Object', 'object.name', 'wide'),
  number('subscriptions', 'Subscriptions', 'object.subscriptions', 'w-count', formatCount),
  number('values', 'Values', 'object.values', 'w-count', formatCount),
  number('rate', 'Values /s', 'object.rate', 'w-rate', formatRate),
];

export const SESSION_COLUMNS: readonly Column<SessionRow>[] = [
  { ...text<SessionRow>('userName', 'User', 'session.user', 'wide'), text: describeUser },
  minor({
    ...{ key: 'connection', label: 'Connection', def: 'session.connection', width: 'w-text', isNumber: false },
    value: ({ connectionType }) => describeConnection(connectionType),
    text: ({ connectionType }) => describeConnection(connectionType),
  }),
  minor(time('createTime', 'Since', 'session.since')),
  time('lastActivityTime', 'Last activity', 'session.active'),
  number('requests', 'Requests', 'session.requests', 'w-count', formatCount),
  failed('session.errors', ({ requests }) => requests),
];

export const PATH_COLUMNS: readonly Column<PathRow>[] = [
  text('path', 'Path', 'path.name', 'wide'),
  number('count', 'Requests', 'path.count', 'w-count', formatCount),
  number('p95', 'p95', 'path.p95', 'w-duration', formatDuration),
];

const isLate = ({ isLate }: SingleCallRow) => isLate;

export const RUNNING_COLUMNS: readonly Column<SingleCallRow>[] = [
  text('name', 'Name', 'single.name', 'wide'),
  { ...number<SingleCallRow>('duration', 'Age', 'single.duration', 'w-age', formatDuration), isBad: isLate },
  text('userName', 'User', 'single.user', 'w-text'),
  minor(text('remoteAddress', 'Address', 'session.address', 'w-text')),
  minor(time('startTime', 'Since', 'single.since')),
];

export const SLOWEST_COLUMNS: readonly Column<SingleCallRow>[] = [
  ...RUNNING_COLUMNS.map((column) => (column.key === 'duration' ? { ...column, label: 'Took' } : column)),
  {
    ...{ key: 'outcome', label: 'Outcome', def: 'single.outcome', width: 'w-text', isNumber: false },
    value: describeOutcome,
    text: describeOutcome,
  },
];

/** E.g. `ok 200, too late`. */
function describeOutcome({ status, outcome = '', isLate }: SingleCallRow): string {
  return `${outcome.replace('_', ' ')}${status ? ` ${status}` : ''}${isLate ? ', too late' : ''}`;
}

/** The members of a row whose value is a `Value`. */
type KeyFor<Row, Value> = { [Key in keyof Row]: Row[Key] extends Value ? Key : never }[keyof Row] & string;

function text<Row>(key: KeyFor<Row, string | null>, label: string, def: DefinitionKey, width: string): Column<Row> {
  const value = (row: Row) => row[key] as string | null;
  return { key, label, def, width, isNumber: false, value, text: (row) => value(row) ?? '(unknown)' };
}

/** `format` must accept null where the member may be null. */
function number<Row>(
  key: KeyFor<Row, number | null>,
  label: string,
  def: DefinitionKey,
  width: string,
  format: (value: number) => string,
): Column<Row> {
  const value = (row: Row) => row[key] as number;
  return { key, label, def, width, isNumber: true, value, text: (row) => format(value(row)) };
}

function minor<Row>(column: Column<Row>): Column<Row> {
  return { ...column, isMinor: true };
}

/** Failed calls, with their share of all ended calls; highlighted above 0. */
function failed<Row extends { readonly errors: number }>(def: DefinitionKey, ended: (row: Row) => number): Column<Row> {
  return {
    ...{ key: 'errors', label: 'Errors', def, width: 'w-errors', isNumber: true },
    value: ({ errors }) => errors,
    text: (row) => formatFailed(row.errors, ended(row)),
    isBad: ({ errors }) => errors > 0,
  };
}

/** Sorted as numbers, which is faster than as strings, and shown in the reader's time zone. */
function time<Row>(key: KeyFor<Row, string>, label: string, def: DefinitionKey): Column<Row> {
  const value = (row: Row) => Date.parse(row[key] as string);
  return {
    ...{ key, label, def, width: 'w-time', isNumber: false, value },
    text: (row, nowMs) => formatTime(value(row), nowMs),
  };
}
