/** Schemas of answers, with metric names: each endpoint has those of its kind, and its totals from the start. */
import { LIVE_SCHEMAS } from './live-schemas.ts';
import { dateTime, exactly, type Schema, withOptional } from './schema-parts.ts';

const SECTIONS = ['gauges', 'counters', 'histograms', 'meters', 'timers'] as const;
type Section = (typeof SECTIONS)[number];

/** Possible names of a section (a regular expression), then the required ones; sections that are left out are empty. */
type SectionNames = Readonly<Partial<Record<Section, readonly [pattern: string, ...always: string[]]>>>;

const RATES = ['m15_rate', 'm1_rate', 'm5_rate', 'mean_rate'];
const DURATIONS = ['max', 'mean', 'min', 'p50', 'p75', 'p95', 'p98', 'p99', 'p999', 'stddev'];
/** Names may contain any character, line ends included. */
const NAME = '[\\s\\S]*';

const double: Schema = { $ref: '#/components/schemas/Double' };

function each(names: readonly string[], schema: Schema): Readonly<Record<string, Schema>> {
  return Object.fromEntries(names.map((name) => [name, schema]));
}

function mapOf(name: string): Schema {
  return { type: 'object', additionalProperties: { $ref: `#/components/schemas/${name}` } };
}

/** A metrics document with only these names. */
function metricsNamed(description: string, names: SectionNames): Schema {
  const properties = Object.fromEntries(SECTIONS.map((section) => [section, sectionNamed(names[section])]));
  return { description, allOf: [{ $ref: '#/components/schemas/Metrics' }, { properties }] };
}

function sectionNamed(names: SectionNames[Section]): Schema {
  if (names === undefined) return { maxProperties: 0 };
  const [pattern, ...required] = names;
  return { propertyNames: { pattern: `^(?:${pattern})$` }, ...(required.length === 0 ? {} : { required }) };
}

function callsOf(kind: 'rpc' | 'sba'): SectionNames {
  return {
    timers: [`${kind}(?:\\.${NAME})?`, kind],
    meters: [`${kind}\\.(?:${NAME}\\.)?errors`, `${kind}.errors`],
  };
}

const ONE_CALL: SectionNames = { timers: [`(?:rpc|sba)\\.${NAME}`], meters: [`(?:rpc|sba)\\.${NAME}\\.errors`] };

const SESSIONS: SectionNames = {
  gauges: ['sessions\\.active', 'sessions.active'],
  timers: ['sessions\\.created', 'sessions.created'],
};

const OBJECTS: SectionNames = {
  gauges: ['object\\.monitored', 'object.monitored'],
  counters: [`object\\.(?:${NAME}\\.)?subscriptions`, 'object.subscriptions'],
  meters: [`object\\.(?:${NAME}\\.)?newValues`, 'object.newValues'],
};

const D2: SectionNames = {
  gauges: ['sessions\\.active|object\\.monitored', 'sessions.active', 'object.monitored'],
  counters: [`object\\.(?:${NAME}\\.)?subscriptions`, 'object.subscriptions'],
  meters: [
    `(?:rpc|sba)\\.(?:${NAME}\\.)?errors|object\\.(?:${NAME}\\.)?newValues`,
    ...['rpc.errors', 'sba.errors', 'object.newValues'],
  ],
  timers: [`(?:rpc|sba)(?:\\.${NAME})?|sessions\\.created`, 'rpc', 'sba', 'sessions.created'],
};

const CLASSLOADER = 'jvm\\.classloader\\.(?:un)?loaded';
const USAGE = '(?:init|used|committed|max|usage|used-after-gc)';
const MEMORY = `jvm\\.memory\\.(?:heap|non-heap|total|pools\\.\\S+)\\.${USAGE}`;
const COLLECTOR = 'jvm\\.garbagecollector\\.\\S+\\.(?:count|time)';

/** Schemas by their names in `components`. */
export const SCHEMAS = {
  Double: {
    description:
      'A number that is always written with a fraction or an exponent, e.g. `1.0`; what is no number is written as a text.',
    anyOf: [{ type: 'number' }, { enum: ['NaN', 'Infinity', '-Infinity'] }],
  },
  Count: { description: 'Counted since the start.', type: 'integer', minimum: 0 },
  Gauge: {
    description: 'A value of now, or why it cannot be told.',
    oneOf: [
      exactly({ value: { type: ['integer', 'number', 'string', 'null'] } }),
      exactly({ error: { type: 'string' } }),
    ],
  },
  Counter: exactly({ count: { type: 'integer' } }, 'What there is of something now.'),
  Histogram: exactly(
    { count: { $ref: '#/components/schemas/Count' } },
    'Not used: durations are timers. The section is there because readers expect it.',
  ),
  Meter: exactly(
    {
      count: { $ref: '#/components/schemas/Count' },
      ...each(RATES, double),
      units: { const: 'events/second' },
    },
    'How often something happens: moving averages of 1, 5 and 15 minutes, and the mean since the start.',
  ),
  Timer: exactly(
    {
      count: { $ref: '#/components/schemas/Count' },
      ...each([...DURATIONS, ...RATES], double),
      duration_units: { enum: ['seconds', 'milliseconds'] },
      rate_units: { const: 'calls/second' },
    },
    'How long and how often. Durations describe the last seconds that the field `Metrics-Window` tells, and are zero when nothing happened in them; `count` and `mean_rate` are since the start.',
  ),
  Metrics: exactly(
    {
      version: { const: '4.0.0', description: 'Version of the form, not of the sidecar.' },
      gauges: mapOf('Gauge'),
      counters: mapOf('Counter'),
      histograms: mapOf('Histogram'),
      meters: mapOf('Meter'),
      timers: mapOf('Timer'),
    },
    'The JSON of Dropwizard Metrics 4. Names are in the order of their UTF-16 code units.',
  ),
  D2Metrics: metricsNamed('RPCs, SBA RPCs, objects and sessions.', D2),
  SessionMetrics: metricsNamed('Created and active sessions.', SESSIONS),
  RpcMetrics: metricsNamed('RPCs, all and each.', callsOf('rpc')),
  SbaMetrics: metricsNamed('SBA RPCs, all and each.', callsOf('sba')),
  OneCallMetrics: metricsNamed('One RPC, one SBA RPC, or both.', ONE_CALL),
  ObjectMetrics: metricsNamed('Objects, all and each.', OBJECTS),
  OneObjectMetrics: metricsNamed('One object.', {
    counters: [`object\\.${NAME}\\.subscriptions`],
    meters: [`object\\.${NAME}\\.newValues`],
  }),
  JvmMetrics: metricsNamed('All that is known of the JVM.', { gauges: [`${CLASSLOADER}|${MEMORY}|${COLLECTOR}`] }),
  ClassloaderMetrics: metricsNamed('Classes.', { gauges: [CLASSLOADER] }),
  MemoryMetrics: metricsNamed('Memory, in bytes; `usage` is a ratio.', { gauges: [MEMORY] }),
  CollectorMetrics: metricsNamed('Collections, and the milliseconds spent in them.', { gauges: [COLLECTOR] }),
  SessionList: {
    description: 'Active sessions, oldest first.',
    type: 'array',
    items: { $ref: '#/components/schemas/Session' },
  },
  Session: withOptional(
    exactly({
      id: { type: 'string', minLength: 1, description: 'Random; never a cookie, key or credential.' },
      createTime: dateTime,
      userName: { type: ['string', 'null'], description: 'Null where the wire does not tell it.' },
      connectionType: { enum: ['REST', 'COMET_WEBSOCKET', 'COMET_LONG_POLLING'] },
      lastActivityTime: dateTime,
      remoteAddress: { type: 'string', description: 'Where the request that began the session came from.' },
      requests: { $ref: '#/components/schemas/Count' },
    }),
    {
      verified: {
        const: false,
        description:
          'Last, and only there where nothing has proven the credential or the name: anybody may have stated it.',
      },
    },
  ),
  Health: exactly({ status: { enum: ['ok', 'unavailable'] } }),
  Problem: {
    description: 'What went wrong (RFC 9457). `detail` is for people and may change.',
    type: 'object',
    required: ['type', 'title', 'status', 'detail'],
    properties: {
      type: { const: 'about:blank' },
      title: { type: 'string', minLength: 1 },
      status: { type: 'integer', minimum: 400, maximum: 599 },
      detail: { type: 'string', minLength: 1 },
      since: { ...dateTime, description: 'Since when the JVM cannot be read.' },
    },
    additionalProperties: false,
  },
  Exposition: {
    description: 'Metrics as Prometheus reads them, one sample on each line.',
    type: 'string',
    pattern: '\\n$',
  },
  OpenApi: {
    description: 'This document.',
    type: 'object',
    required: ['openapi', 'info', 'paths', 'components'],
    properties: { openapi: { type: 'string', pattern: '^3\\.1\\.' } },
  },
  ...LIVE_SCHEMAS,
} as const satisfies Readonly<Record<string, Schema>>;

export type SchemaName = keyof typeof SCHEMAS;
