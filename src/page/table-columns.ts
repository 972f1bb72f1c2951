/** The columns of the tables: the values to sort by, and the texts to show. */

import { formatCount, formatDuration, formatRate } from '../base/figures.ts';
import type { DefinitionKey } from './definitions.ts';
import { formatFailed, formatTime } from './format.ts';
import type { CallRow, ConnectionType, ObjectRow, PathRow, RunningRow, SessionRow, SlowRow } from './live-data.ts';
import type { Column } from './table-model.ts';

/** Index of the first step count in a row of calls. */
const FIRST_STEP = 7;
/** Steps of 5 s per count. */
const STEPS_PER_COUNT = 5;

const CONNECTIONS: Readonly<Record<ConnectionType, string>> = {
  REST: 'REST',
  COMET_WEBSOCKET: 'Comet, WebSocket',
  COMET_LONG_POLLING: 'Comet, long-polling',
};

export function toConnection(type: ConnectionType): string {
  return CONNECTIONS[type] ?? type;
}

/** E.g. `anna`, or `anna (unverified)` if nothing has proven the name. */
export function toUser([, userName, , , , , , , verified]: SessionRow): string {
  return `${userName ?? '(unknown)'}${verified === false ? ' (unverified)' : ''}`;
}

export function stepsOf(row: CallRow): readonly number[] {
  return row.slice(FIRST_STEP) as number[];
}

/** Same as `stepsOf`, with null for the time before the sidecar's start. `seq` is its newest step. */
export function measuredStepsOf(row: CallRow, seq: number): readonly (number | null)[] {
  const steps = stepsOf(row);
  const unmeasured = steps.length - Math.floor(seq / STEPS_PER_COUNT);
  return steps.map((count, at) => (at < unmeasured ? null : count));
}

export const CALL_COLUMNS: readonly Column<CallRow>[] = [
  text('name', 'Name', 'call.name', 'wide', (row) => row[0]),
  { ...number('count', 'Calls', 'call.count', 'w-count', (row: CallRow) => row[1], formatCount), isMinor: true },
  number('rate', 'Rate /s', 'call.rate', 'w-rate', (row) => row[3], formatRate),
  {
    ...number('p50', 'p50', 'call.p50', 'w-duration', (row: CallRow) => orNone(row[4]), formatDuration),
    isMinor: true,
  },
  number('p99', 'p99', 'call.p99', 'w-duration', (row) => orNone(row[5]), formatDuration),
  failed(
    'call.errors',
    (row) => row[2],
    (row) => row[6],
  ),
  {
    ...number('steps', 'Last 5 min', 'call.spark', 'w-spark', (row: CallRow) => sum(stepsOf(row)), formatCount),
    isMinor: true,
  },
];

export const OBJECT_COLUMNS: readonly Column<ObjectRow>[] = [
  text('name', 'Object', 'object.name', 'wide', (row) => row[0]),
  number('subscriptions', 'Subscriptions', 'object.subscriptions', 'w-count', (row) => row[1], formatCount),
  number('values', 'Values', 'object.values', 'w-count', (row) => row[2], formatCount),
  number('rate', 'Values /s', 'object.rate', 'w-rate', (row) => row[3], formatRate),
];

/** Times are sorted as numbers, which is faster than as strings, and shown in the reader's time zone. */
export function toSessionColumns(nowMs: number): readonly Column<SessionRow>[] {
  return [
    { ...text('user', 'User', 'session.user', 'wide', (row: SessionRow) => row[1]), text: toUser },
    {
      ...text('connection', 'Connection', 'session.connection', 'w-text', (row: SessionRow) => toConnection(row[2])),
      isMinor: true,
    },
    { ...time('since', 'Since', 'session.since', nowMs, (row: SessionRow) => row[3]), isMinor: true },
    time('active', 'Last activity', 'session.active', nowMs, (row) => row[4]),
    number('requests', 'Requests', 'session.requests', 'w-count', (row) => row[6], formatCount),
    failed(
      'session.errors',
      (row) => row[7],
      (row) => row[6],
    ),
  ];
}

export const PATH_COLUMNS: readonly Column<PathRow>[] = [
  text('path', 'Path', 'path.name', 'wide', (row) => row[0]),
  number('count', 'Requests', 'path.count', 'w-count', (row) => row[1], formatCount),
  number('p95', 'p95', 'path.p95', 'w-duration', (row) => row[2], formatDuration),
];

/** `clientTimeoutS`: a later answer is too late for its user; 0: never. */
export function toSingleCallColumns(
  kind: 'running' | 'slowest',
  clientTimeoutS: number,
  nowMs: number,
): readonly Column<RunningRow | SlowRow>[] {
  const isLate = (row: RunningRow | SlowRow) => clientTimeoutS > 0 && row[7] > clientTimeoutS;
  const columns: Column<RunningRow | SlowRow>[] = [
    text('name', 'Name', 'single.name', 'wide', (row) => row[2]),
    {
      ...number(
        'duration',
        kind === 'running' ? 'Age' : 'Took',
        'single.duration',
        'w-age',
        (row: RunningRow | SlowRow) => row[7],
        formatDuration,
      ),
      isBad: isLate,
    },
    { ...text('user', 'User', 'single.user', 'w-text', (row: RunningRow | SlowRow) => row[3] ?? '(unknown)') },
    {
      ...text('address', 'Address', 'session.address', 'w-text', (row: RunningRow | SlowRow) => row[5]),
      isMinor: true,
    },
    { ...time('since', 'Since', 'single.since', nowMs, (row: RunningRow | SlowRow) => row[6]), isMinor: true },
  ];
  if (kind === 'running') return columns;
  return [...columns, text('outcome', 'Outcome', 'single.outcome', 'w-text', (row) => toOutcome(row, isLate(row)))];
}

/** E.g. `ok 200, too late`. */
function toOutcome([, , , , , , , , , , , status, outcome]: RunningRow | SlowRow, isLate: boolean): string {
  const code = status === null || status === undefined ? '' : ` ${String(status)}`;
  return `${String(outcome).replace('_', ' ')}${code}${isLate ? ', too late' : ''}`;
}

function text<Row>(
  key: string,
  label: string,
  def: DefinitionKey,
  width: string,
  value: (row: Row) => string | null,
  show: (value: string | null) => string = (shown) => shown ?? '',
): Column<Row> {
  return { key, label, def, width, isNumber: false, value, text: (row) => show(value(row)) };
}

function number<Row, Value extends number | null>(
  key: string,
  label: string,
  def: DefinitionKey,
  width: string,
  value: (row: Row) => Value,
  show: (value: Value) => string,
): Column<Row> {
  return { key, label, def, width, isNumber: true, value, text: (row) => show(value(row)) };
}

/** Failed calls, with their share of all ended calls; highlighted above 0. */
function failed<Row>(def: DefinitionKey, errors: (row: Row) => number, ended: (row: Row) => number): Column<Row> {
  return {
    ...number('errors', 'Errors', def, 'w-errors', errors, formatCount),
    text: (row) => formatFailed(errors(row), ended(row)),
    isBad: (row) => errors(row) > 0,
  };
}

function time<Row>(
  key: string,
  label: string,
  def: DefinitionKey,
  nowMs: number,
  iso: (row: Row) => string,
): Column<Row> {
  const value = (row: Row) => Date.parse(iso(row));
  return { key, label, def, width: 'w-time', isNumber: false, value, text: (row) => formatTime(value(row), nowMs) };
}

/** A duration of 0 means that the window was empty. */
function orNone(seconds: number): number | null {
  return seconds === 0 ? null : seconds;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
