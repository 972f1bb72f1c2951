/** Descriptions of all endpoints of routes.ts. A test fails for a route without one, and for one without a route. */
import { CONTENT_TYPES } from '../prometheus/negotiate.ts';
import { METRICS_WINDOW } from './answers.ts';
import type { Answer, AnswerFields, Endpoint } from './endpoint.ts';
import type { ExampleName } from './examples.ts';
import { PAGE_ENDPOINTS } from './page-endpoints.ts';
import type { SchemaName } from './schemas.ts';

function json(description: string, schema: SchemaName, example: ExampleName, fields: AnswerFields = {}): Answer {
  return { description, content: { 'application/json': { schema, examples: [example] } }, fields };
}

type Named = Pick<Endpoint, 'path' | 'id' | 'summary' | 'description' | 'parameters'>;

function statistics(named: Named, schema: SchemaName, example: ExampleName): Endpoint {
  // A session's timers cover the whole session, so there is no window.
  const ofSession = named.parameters?.includes('session') === true;
  const window = Object.entries(METRICS_WINDOW).map(([name, field]) => [name, { ...field, isOptional: ofSession }]);
  const answer = json('The statistics.', schema, example, Object.fromEntries(window));
  return { ...named, of: 'application', tag: 'statistics', access: 'metrics', answers: { 200: answer } };
}

const JVM_FIELDS: AnswerFields = {
  ...METRICS_WINDOW,
  age: { description: 'Seconds since the JVM was read (RFC 9111 §5.1).', schema: { type: 'integer', minimum: 0 } },
  'metrics-source': {
    description: 'What it was read from, and whether the use of the heap is of now or as of the last collection.',
    schema: { type: 'string', pattern: '^[^;]+; memory=(?:live|after-gc)$' },
  },
};

function jvm(named: Named, schema: SchemaName, example: ExampleName): Endpoint {
  return {
    ...{ ...named, of: 'application', tag: 'jvm', access: 'metrics', parameters: ['pretty'] },
    answers: {
      200: json('The last reading.', schema, example, JVM_FIELDS),
      503: {
        description:
          'There is no reading, or it is too old; or it is a refusal: too many passwords wait to be verified, or nobody can be let in.',
        fields: { 'retry-after': { description: 'Seconds.', schema: { type: 'integer' }, isOptional: true } },
        content: { 'application/problem+json': { schema: 'Problem', examples: ['problem503', 'problemBusy'] } },
      },
    },
  };
}

function health(path: string, id: string, summary: string, canFail: boolean): Endpoint {
  const unwell = { 503: json('No.', 'Health', 'unwell') };
  return {
    ...{ path, id, summary, of: 'sidecar', tag: 'health', access: 'open' },
    answers: { 200: json('Yes.', 'Health', 'well'), ...(canFail ? unwell : {}) },
  };
}

const BOTH = ['session', 'pretty'] as const;

const APPLICATION_ENDPOINTS: readonly Endpoint[] = [
  {
    ...{ path: '/d2/sessions', id: 'sessions', summary: 'Active sessions, oldest first.' },
    ...{ of: 'application', tag: 'sessions', access: 'sessions', parameters: ['pretty'] },
    answers: { 200: json('The list.', 'SessionList', 'sessions') },
  },
  statistics(
    { path: '/metrics/d2', id: 'd2', summary: 'The union of RPCs, SBA RPCs, objects and sessions.', parameters: BOTH },
    'D2Metrics',
    'd2',
  ),
  statistics(
    { path: '/metrics/d2/sessions', id: 'createdSessions', summary: 'Created and active sessions.', parameters: BOTH },
    'SessionMetrics',
    'sessionsCreated',
  ),
  statistics(
    { path: '/metrics/d2/rpc', id: 'rpc', summary: 'Count and duration of RPCs, all and each.', parameters: BOTH },
    'RpcMetrics',
    'rpc',
  ),
  statistics(
    { path: '/metrics/d2/sba', id: 'sba', summary: 'Count and duration of SBA RPCs, all and each.', parameters: BOTH },
    'SbaMetrics',
    'sba',
  ),
  statistics(
    {
      ...{ path: '/metrics/d2/rpc/{name}', id: 'rpcByName', summary: 'One RPC, or one SBA RPC.' },
      description: 'Both, when an RPC and an SBA RPC share the name.',
      parameters: ['rpcName', ...BOTH],
    },
    'OneCallMetrics',
    'rpcByName',
  ),
  statistics(
    { path: '/metrics/d2/sba/{name}', id: 'sbaByName', summary: 'One SBA RPC.', parameters: ['rpcName', ...BOTH] },
    'OneCallMetrics',
    'sbaByName',
  ),
  statistics(
    {
      path: '/metrics/d2/object',
      id: 'object',
      summary: 'Monitored objects: monitorings and received values, of all and of each.',
      parameters: BOTH,
    },
    'ObjectMetrics',
    'object',
  ),
  statistics(
    {
      path: '/metrics/d2/object/{name}',
      id: 'objectByName',
      summary: 'One object.',
      parameters: ['objectName', ...BOTH],
    },
    'OneObjectMetrics',
    'objectByName',
  ),
  jvm(
    { path: '/metrics/jvm', id: 'jvm', summary: 'The union of class loader, memory and garbage collectors.' },
    'JvmMetrics',
    'jvm',
  ),
  jvm(
    { path: '/metrics/jvm/classloader', id: 'classloader', summary: 'Loaded and unloaded classes.' },
    'ClassloaderMetrics',
    'classloader',
  ),
  jvm({ path: '/metrics/jvm/memory', id: 'memory', summary: 'Use of memory.' }, 'MemoryMetrics', 'memory'),
  jvm(
    { path: '/metrics/jvm/garbagecollector', id: 'garbagecollector', summary: 'Collections and their time.' },
    'CollectorMetrics',
    'garbagecollector',
  ),
];

const SIDECAR_ENDPOINTS: readonly Endpoint[] = [
  {
    ...{ path: '/metrics', id: 'metrics', summary: 'Everything, for Prometheus.' },
    description: 'Text, or OpenMetrics 1.0 to a reader whose `Accept` asks for it.',
    ...{ of: 'sidecar', tag: 'sidecar', access: 'metrics' },
    answers: {
      200: {
        description: 'Metrics of all applications, of the JVM and of the sidecar itself.',
        content: {
          [CONTENT_TYPES.text]: { schema: 'Exposition', examples: ['text'] },
          [CONTENT_TYPES.openmetrics]: { schema: 'Exposition', examples: ['openmetrics'] },
        },
        fields: { vary: { description: 'The form depends on it.', schema: { const: 'accept' } } },
      },
    },
  },
  {
    ...{ path: '/openapi.json', id: 'openapi', summary: 'This document.' },
    ...{ of: 'sidecar', tag: 'sidecar', access: 'metrics' },
    answers: {
      200: { description: 'OpenAPI 3.1.', content: { 'application/json': { schema: 'OpenApi' } } },
    },
  },
  health('/livez', 'livez', 'Does the event loop turn?', false),
  health('/readyz', 'readyz', 'May new clients come? Not while draining.', true),
  health('/startupz', 'startupz', 'Are both listeners open?', true),
];

export const ENDPOINTS: readonly Endpoint[] = [...APPLICATION_ENDPOINTS, ...SIDECAR_ENDPOINTS, ...PAGE_ENDPOINTS];
