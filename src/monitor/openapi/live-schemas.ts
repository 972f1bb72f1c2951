/** Schemas of the answers to the live page. They follow the page and change with it. */
import { MAX_STEPS, STEP_SECONDS } from '../../measure/history/columns.ts';
import { MARK_KINDS } from '../../measure/history/marks.ts';
import { SPARK_POINTS, STEPS_PER_SPARK_POINT } from '../../measure/history/spark-lines.ts';
import { dateTime, exactly, type Schema } from './schema-parts.ts';

const count: Schema = { type: 'integer', minimum: 0 };
const number: Schema = { type: 'number', minimum: 0 };
const numberOrNull: Schema = { type: ['number', 'null'], minimum: 0 };
const text: Schema = { type: 'string' };
const textOrNull: Schema = { type: ['string', 'null'] };
const dateTimeOrNull: Schema = { anyOf: [dateTime, { type: 'null' }] };

function described(schema: Schema, description: string): Schema {
  return { ...schema, description };
}

function listOf(items: Schema, description: string): Schema {
  return { type: 'array', items, description };
}

/** An array with exactly these elements; the `optional` ones may be missing. */
function tuple(items: readonly Schema[], description: string, ...optional: readonly Schema[]): Schema {
  return { type: 'array', prefixItems: [...items, ...optional], items: false, minItems: items.length, description };
}

const CALLS = tuple(
  [count, count, numberOrNull, numberOrNull, numberOrNull],
  'Answered calls, errors, and the p50, p99 and p95 of their durations in seconds; null without calls.',
);

const POINT = exactly(
  {
    seq: described({ type: 'integer', minimum: 1 }, 'Number of the step.'),
    t: described(number, 'Its end, in seconds since 1970.'),
    seconds: described(number, `How long it was: ${STEP_SECONDS}, unless the process stood still.`),
    rpc: CALLS,
    sba: CALLS,
    values: described(count, 'Received values of objects.'),
    aborted: described(count, 'RPC and SBA calls whose client left, of all applications.'),
    unanswered: described(count, 'RPC and SBA calls that the upstream did not answer, of all applications.'),
    sessions: described(count, 'Sessions at its end.'),
    holds: described(count, 'Comet polls held at its end, of all applications.'),
    heapUsed: described(numberOrNull, 'Bytes; null where the source does not know it.'),
    heapAfterGc: described(numberOrNull, 'Bytes that the last collections left.'),
    gcPauseMs: described(numberOrNull, 'Milliseconds of pauses in the step.'),
  },
  'One step.',
);

/** The increase of a counter. */
const RECENT = {
  sinceStart: described(count, 'Since this process began to measure.'),
  inMinute: described(count, 'In the last minute.'),
};

const APPLICATION = exactly({
  name: described(text, 'Empty: the root context.'),
  sessions: exactly({ REST: count, COMET_WEBSOCKET: count, COMET_LONG_POLLING: count, created: count }),
  holds: exactly({ now: count }, 'Comet polls, of all applications.'),
  worstCall: {
    anyOf: [exactly({ kind: { enum: ['rpc', 'sba'] }, name: text, failed: count, ended: count }), { type: 'null' }],
    description: 'The name with the most failed calls in the last minute.',
  },
  history: exactly({
    stepSeconds: { const: STEP_SECONDS },
    points: { type: 'array', maxItems: MAX_STEPS, items: POINT, description: 'Oldest first.' },
  }),
});

const SPARK = Array.from({ length: SPARK_POINTS }, () => count);

export const LIVE_SCHEMAS = {
  Live: exactly({
    version: text,
    now: dateTime,
    startTime: described(dateTime, 'Of this process: another one is a restart.'),
    role: { enum: ['metrics', 'sessions'], description: 'What the reader may see.' },
    state: { enum: ['starting', 'serving', 'draining', 'stopping', 'stopped'] },
    stopLeftSeconds: described(numberOrNull, 'Until the end, once somebody has asked to stop.'),
    upstream: exactly(
      { state: { enum: ['unknown', 'reachable', 'unreachable'] }, since: dateTimeOrNull, reason: textOrNull },
      'Of the last connection that was tried.',
    ),
    jvm: exactly({
      state: { enum: ['available', 'unavailable', 'none'] },
      source: textOrNull,
      since: dateTimeOrNull,
      reason: textOrNull,
      heapMax: described(numberOrNull, 'Bytes; null where there is no limit, or it is not known.'),
    }),
    limits: listOf(
      exactly({ key: text, ...RECENT }),
      'Limits that have been reached, by key of the configuration; not those of silence.',
    ),
    failures: listOf(exactly({ code: text, ...RECENT }), 'Exchanges that the upstream did not answer, by code.'),
    connections: exactly({ open: count, refused: exactly(RECENT) }),
    gatewayShare: {
      ...{ type: 'number', minimum: 0, maximum: 1 },
      description: 'Exchanges of the last minute that took the gateway.',
    },
    observerErrors: exactly(RECENT, 'Exchanges that were not measured because of a fault of the sidecar.'),
    outside: exactly(
      {
        ...RECENT,
        segments: {
          anyOf: [{ type: 'array', items: tuple([text, count], 'Segment and requests.') }, { type: 'null' }],
          description: 'Most frequent first segments that look like names; null without the role sessions.',
        },
        other: { anyOf: [count, { type: 'null' }], description: 'Requests under none of the segments.' },
      },
      'Requests that passed outside of all applications.',
    ),
    windowSeconds: described(number, 'What durations in the tables describe.'),
    seq: described(count, 'Number of the newest step.'),
    marks: listOf(exactly({ t: number, kind: { enum: MARK_KINDS }, text }), 'What happened, with its moment.'),
    droppedMarks: described(count, 'Marks that had to go for later ones.'),
    applications: { type: 'array', items: APPLICATION },
  }),
  LiveCalls: exactly({
    sparkPoints: { const: SPARK_POINTS },
    sparkStepSeconds: { const: STEPS_PER_SPARK_POINT * STEP_SECONDS },
    rows: listOf(
      tuple([text, count, count, number, number, number, count, ...SPARK], 'A row.'),
      'Name, answered calls, errors, calls each second, p50, p99 (seconds), all calls that ended, and calls in each of the last steps, oldest first.',
    ),
  }),
  LiveObjects: exactly({
    rows: listOf(
      tuple([text, count, count, number], 'A row.'),
      'Name, monitorings, received values, received values each second.',
    ),
  }),
  LiveSessions: exactly({
    rows: listOf(
      tuple([text, textOrNull, text, dateTime, dateTime, text, count, count], 'A row.', { const: false }),
      'Id, user name, type of connection, creation, last activity, address, requests, failed calls; false where nothing has proven the name.',
    ),
  }),
} as const satisfies Readonly<Record<string, Schema>>;
