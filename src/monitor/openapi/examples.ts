/**
 * Examples of the document, made by the same code as the answers, from a few calls on a stopped clock. They stay JSON
 * text, since parsing and writing a number again would lose its fraction (`1.0`).
 */
import { type Clock, NS_PER_MS, NS_PER_S } from '../../base/clock.ts';
import { toJvmGauges, toMetricSet } from '../../jvm/gauges.ts';
import type { JvmReading } from '../../jvm/jvm-reading.ts';
import type { SessionEntry } from '../../measure/sessions/session.ts';
import { initMetrics } from '../../metrics/histogram-pool.ts';
import type { MetricSet } from '../../metrics/metric-set.ts';
import { type ApplicationStatistics, createStatistics } from '../../metrics/statistics.ts';
import type { Timer } from '../../metrics/timer.ts';
import type { DurationUnit } from '../dropwizard/metric-fields.ts';
import { MetricsRenderer } from '../dropwizard/render.ts';
import type { MonitoredApplication } from '../monitored.ts';
import { type Problem, problemBody } from '../problem.ts';
import { applicationTables } from '../prometheus/application-tables.ts';
import { type ExpositionFormat, renderTables } from '../prometheus/exposition.ts';
import { renderSessions } from '../session-list.ts';

const MIB = 1024 * 1024;

const RPC = 'E.Demo.TestInOut';
const OBJECT = 'H.Temperature';

const READING: JvmReading = {
  classes: { loaded: 12_043, unloaded: 17 },
  heap: { init: 256 * MIB, used: 512 * MIB, committed: 1_024 * MIB, max: 2_048 * MIB },
  nonHeap: { init: 7 * MIB, used: 96 * MIB, committed: 100 * MIB, max: -1 },
  pools: new Map([
    [
      'G1 Old Gen',
      { init: 243 * MIB, used: 400 * MIB, committed: 900 * MIB, max: 2_048 * MIB, usedAfterGc: 380 * MIB },
    ],
  ]),
  collectors: new Map([['G1 Young Generation', { count: 131, timeMs: 1_742 }]]),
  memory: 'live',
};

const SESSIONS: readonly SessionEntry[] = [
  {
    id: '6f1c3a52-7f0e-4f3b-9a54-0c8f2f6d9f1e',
    createTime: '2026-03-01T08:00:00.000Z',
    userName: 'operator',
    connectionType: 'COMET_WEBSOCKET',
    lastActivityTime: '2026-03-01T08:01:12.250Z',
    remoteAddress: '192.0.2.17',
    requests: 12,
  },
  {
    id: 'b5f0b1c4-6f3d-4f0a-8a55-5d0a9d3f5f10',
    createTime: '2026-03-01T08:00:41.119Z',
    userName: null,
    connectionType: 'REST',
    lastActivityTime: '2026-03-01T08:01:09.870Z',
    remoteAddress: '2001:db8::7',
    requests: 3,
    verified: false,
  },
];

const PROBLEMS: Readonly<Record<string, Problem>> = {
  problem400: { status: 400, detail: 'The parameter "session" takes exactly one session id.' },
  problem401: { status: 401, detail: 'The credential is not right.' },
  problem403: { status: 403, detail: 'This needs the role sessions; yours is metrics.' },
  problem404: { status: 404, detail: `No RPC of the name "${RPC}" has been seen.` },
  problem405: { status: 405, detail: 'This port only takes GET and HEAD.' },
  problem408: { status: 408, detail: 'The request did not come in time.' },
  problem413: { status: 413, detail: 'A request here has no content, or at most 1024 bytes of it.' },
  problem421: {
    status: 421,
    detail: 'This port is not asked for by that name: use its address, or list the name in monitor.hosts.',
  },
  problem429: { status: 429, detail: 'Too many credentials came from this address to verify another one now.' },
  problem431: { status: 431, detail: 'The head is larger than 16384 bytes.' },
  problem500: { status: 500, detail: 'The answer could not be made; the log says more.' },
  problem503: {
    status: 503,
    detail: 'The JVM has not been read yet.',
    members: { since: '2026-03-01T08:00:00.000Z' },
  },
  problemBusy: { status: 503, detail: 'Too many passwords wait to be verified, and this one was not looked at.' },
  problem507: { status: 507, detail: 'The answer is larger than 67108864 bytes (monitor.maxAnswerBytes).' },
};

export type ExampleName =
  | 'd2'
  | 'sessionsCreated'
  | 'rpc'
  | 'sba'
  | 'rpcByName'
  | 'sbaByName'
  | 'object'
  | 'objectByName'
  | 'jvm'
  | 'classloader'
  | 'memory'
  | 'garbagecollector'
  | 'sessions'
  | 'text'
  | 'openmetrics'
  | 'well'
  | 'unwell'
  | 'problemBusy'
  | `problem${400 | 401 | 403 | 404 | 405 | 408 | 413 | 421 | 429 | 431 | 500 | 503 | 507}`;

export interface ExampleOptions {
  readonly windowMs: number;
  readonly durationUnit: DurationUnit;
}

/** JSON texts by name. An answer that is not JSON is a JSON string. */
export function createExamples({ windowMs, durationUnit }: ExampleOptions): ReadonlyMap<ExampleName, string> {
  initMetrics();
  const clock = new StillClock();
  const names = { rpc: 10, sba: 10, object: 10 };
  const statistics = createStatistics({ windowMs, durationUnit, maxNames: names, maxNamesPerSession: 10 }, clock);
  try {
    const created = statistics.createTimer();
    record(statistics, created, clock);
    const renderer = new MetricsRenderer();
    const rendered = (...sets: MetricSet[]) => [...renderer.render(sets, { pretty: false, durationUnit })].join('');
    return new Map<ExampleName, string>([
      ...metricsExamples(statistics, toSessionMetrics(created), rendered),
      ...jvmExamples(rendered),
      ...expositionExamples(statistics, created),
      ['sessions', [...renderSessions(SESSIONS, false)].join('')],
      ['well', '{"status":"ok"}'],
      ['unwell', '{"status":"unavailable"}'],
      ...Object.entries(PROBLEMS).map(([name, problem]): [ExampleName, string] => [
        name as ExampleName,
        problemBody(problem),
      ]),
    ]);
  } finally {
    // Its histograms are outside the reach of the garbage collector.
    statistics.destroy();
  }
}

type Examples = readonly (readonly [ExampleName, string])[];
type Render = (...sets: MetricSet[]) => string;

/** A clock that only `advance` moves. */
class StillClock implements Clock {
  #ns = 0;

  nowNs(): number {
    return this.#ns;
  }

  epochMs(): number {
    return 0;
  }

  advance(seconds: number): void {
    this.#ns += seconds * NS_PER_S;
  }
}

/** Records a minute of two users' work. */
function record({ rpc, sba, object }: ApplicationStatistics, created: Timer, clock: StillClock): void {
  clock.advance(10);
  created.update(84 * NS_PER_MS);
  for (const ms of [12, 14, 11, 92]) {
    rpc.recordAnswered(RPC, 200, ms * NS_PER_MS);
    clock.advance(5);
  }
  rpc.recordAnswered(RPC, 500, 31 * NS_PER_MS);
  sba.recordAnswered('Trend.Read', 200, 45 * NS_PER_MS);
  created.update(61 * NS_PER_MS);
  object.subscribe(OBJECT);
  for (let count = 0; count < 6; count += 1) {
    clock.advance(5);
    object.recordValue(OBJECT);
  }
}

function toSessionMetrics(created: Timer): MetricSet {
  return {
    gauges: new Map([['sessions.active', { type: 'integer', read: () => SESSIONS.length }]]),
    counters: new Map(),
    meters: new Map(),
    timers: new Map([['sessions.created', created]]),
  };
}

function metricsExamples({ rpc, sba, object }: ApplicationStatistics, sessions: MetricSet, render: Render): Examples {
  const only = (set: MetricSet | undefined) => (set === undefined ? [] : [set]);
  return [
    ['d2', render(sessions, rpc.metrics(), sba.metrics(), object.metrics())],
    ['sessionsCreated', render(sessions)],
    ['rpc', render(rpc.metrics())],
    ['sba', render(sba.metrics())],
    ['rpcByName', render(...only(rpc.metricsOf(RPC)))],
    ['sbaByName', render(...only(sba.metricsOf('Trend.Read')))],
    ['object', render(object.metrics())],
    ['objectByName', render(...only(object.metricsOf(OBJECT)))],
  ];
}

function jvmExamples(render: Render): Examples {
  const gauges = toJvmGauges(READING);
  return [
    ['jvm', render(toMetricSet(gauges))],
    ['classloader', render(gauges.classloader)],
    ['memory', render(gauges.memory)],
    ['garbagecollector', render(gauges.garbagecollector)],
  ];
}

/** Sessions and objects of one application: enough to show the form. */
function expositionExamples(statistics: ApplicationStatistics, created: Timer): Examples {
  const sessions: MonitoredApplication['sessions'] = {
    created,
    entries: () => SESSIONS,
    countsByType: () => ({ REST: 1, COMET_WEBSOCKET: 1, COMET_LONG_POLLING: 0 }),
    find: () => undefined,
    metrics: () => toSessionMetrics(created),
  };
  const tables = applicationTables([{ name: 'smartWeb', statistics, sessions }]).filter(
    ({ type }) => type !== 'histogram',
  );
  const text = (format: ExpositionFormat) => JSON.stringify([...renderTables(tables, format)].join(''));
  return [
    ['text', text('text')],
    ['openmetrics', text('openmetrics')],
  ];
}
