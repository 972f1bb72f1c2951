/**
 * All endpoints of the monitoring port: openapi/openapi.yaml says what each answers. Every path accepts GET and HEAD.
 * `{base}` is `/<application>/api/rest/v0/admin`. Elsewhere: history-routes.ts, page-routes.ts, live-routes.ts.
 * `{base}/metrics/d2...` accepts `?session=<id>` for one session; everything below `{base}` accepts `?pretty=true`.
 * With `monitor.auth`, `{base}/d2/sessions`, `{base}/d2/calls...`, `?session=` and `/live/<application>/sessions` need
 * the role `sessions`. Health and the page need no role. Everything else needs the role `metrics`.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Clock, formatIso, systemClock } from '../base/clock.ts';
import { Problem } from '../base/problem.ts';
import { sanitizeText } from '../base/shown-text.ts';
import type { Config } from '../config/config.ts';
import { createServerGauges, joinJvmGauges } from '../jvm/gauges.ts';
import type { JvmState } from '../jvm/jvm-monitor.ts';
import type { Session } from '../measure/sessions/session.ts';
import type { MetricSet } from '../metrics/metric-set.ts';
import type { Statistics } from '../metrics/statistics.ts';
import { renderMetrics } from './dropwizard/render.ts';
import { ALL, NUMBERS, OPEN } from './guard.ts';
import { addHistoryRoutes } from './history-routes.ts';
import { renderList } from './json-pieces.ts';
import { selectVerdict } from './live/live-document.ts';
import { addLiveRoutes } from './live/live-routes.ts';
import { addPageRoutes, type PageFolder } from './live/page-routes.ts';
import { LoopShare, type NextTurn } from './loop-share.ts';
import type { Monitored, MonitoredApplication } from './monitored.ts';
import { CONTENT_TYPES, negotiate } from './negotiate.ts';
import { renderTables } from './prometheus/exposition.ts';
import { FewerSeries, type SeriesOptions } from './prometheus/fewer-series.ts';
import { isPretty, sendJson, sendPieces } from './send.ts';

export interface MetricsOptions extends Pick<Config['metrics'], 'windowMs' | 'durationUnit'> {
  /** Default: all series. */
  readonly prometheus?: SeriesOptions | undefined;
  /** Measures the turns of the event loop. Default: the system clock, since this is about CPU time. */
  readonly clock?: Clock;
  /** Default: `setImmediate`. */
  readonly nextTurn?: NextTurn;
  /** Folder of the live page. Default: where the build puts it. */
  readonly page?: PageFolder;
}

type AvailableJvm = Extract<JvmState, { kind: 'available' }>;

type Query = Readonly<Record<string, string | string[] | undefined>>;

/** The subject of an answer: the whole application, or one of its sessions. */
interface Scope extends Pick<Session, 'metrics'> {
  readonly statistics: Statistics;
  readonly isSession: boolean;
}

/** Returns the metric sets whose union is the answer. */
type Select = (scope: Scope, name: string) => readonly MetricSet[];

const METRIC_PATHS: Readonly<Record<string, Select>> = {
  'metrics/d2': (scope) => {
    const { rpc, sba, object } = scope.statistics;
    return [scope.metrics(), rpc.metrics(), sba.metrics(), object.metrics()];
  },
  'metrics/d2/sessions': (scope) => [scope.metrics()],
  'metrics/d2/rpc': (scope) => [scope.statistics.rpc.metrics()],
  'metrics/d2/sba': (scope) => [scope.statistics.sba.metrics()],
  'metrics/d2/object': (scope) => [scope.statistics.object.metrics()],
  // Takes both kinds of name: in the documented interface, the paths of one RPC and of one SBA RPC are the same.
  'metrics/d2/rpc/:name': (scope, name) => {
    const { rpc, sba } = scope.statistics;
    return found(scope, 'RPC', name, rpc.metricsOf(name), sba.metricsOf(name));
  },
  'metrics/d2/sba/:name': (scope, name) => found(scope, 'SBA RPC', name, scope.statistics.sba.metricsOf(name)),
  'metrics/d2/object/:name': (scope, name) => found(scope, 'object', name, scope.statistics.object.metricsOf(name)),
};

const JVM_PATHS: Readonly<Record<string, (state: AvailableJvm) => MetricSet>> = {
  'metrics/jvm': ({ gauges }) => joinJvmGauges(gauges),
  'metrics/jvm/classloader': ({ gauges }) => gauges.classloader,
  'metrics/jvm/memory': ({ gauges }) => gauges.memory,
  'metrics/jvm/garbagecollector': ({ gauges }) => gauges.garbagecollector,
  'metrics/server': readServer,
};

/** Maximum running calls in one answer; X-Total-Count has the total. */
const MAX_RUNNING = 1_000;

export function addRoutes(server: FastifyInstance, monitored: Monitored, options: MetricsOptions): void {
  const share = new LoopShare(options.clock ?? systemClock, options.nextTurn);
  const { durationUnit } = options;
  const sendMetrics = (request: FastifyRequest, reply: FastifyReply, metrics: readonly MetricSet[]) =>
    sendPieces(request, reply, renderMetrics(metrics, { pretty: isPretty(request), durationUnit }), share);
  const windowSeconds = String(options.windowMs / 1000);
  addHealthRoutes(server, monitored.health);
  addPageRoutes(server, options.page);
  addLiveRoutes(server, monitored, share);
  const fewer = new FewerSeries(options.prometheus);
  for (const { name: application, statistics } of monitored.applications) {
    for (const kind of ['rpc', 'sba'] as const)
      statistics[kind].foldListeners.add((name) => fewer.fold(application, kind, name));
  }
  server.get('/metrics', NUMBERS, async (request, reply) => {
    const format = negotiate(request.headers.accept);
    const tables = fewer.apply(monitored.createTables(await monitored.sidecar.readProcess()));
    reply.header('vary', 'accept');
    return sendPieces(request, reply, renderTables(tables, format), share, CONTENT_TYPES[format]);
  });
  addDocumentRoute(server, monitored);
  for (const application of monitored.applications) {
    const base = `${formatRoutePrefix(application.name)}/api/rest/v0/admin`;
    const addList = (path: string, read: () => Iterable<object>) =>
      server.get(`${base}/${path}`, ALL, (request, reply) => {
        if (path === 'd2/calls') reply.header('x-total-count', String(application.running.size));
        return sendPieces(request, reply, renderList(read(), isPretty(request)), share);
      });
    addHistoryRoutes(server, { base, application: application.name }, monitored.live, share);
    addList('d2/sessions', () => application.sessions.entries());
    addList('d2/calls', () => application.running.oldest(MAX_RUNNING));
    addList('d2/calls/slowest', () => application.slowest.slowest());
    server.get(`${base}/d2/verdict`, NUMBERS, (request, reply) => {
      const verdict = monitored.verdicts.of(application.name);
      const document = selectVerdict(verdict, request.reader?.role ?? 'metrics');
      return sendJson(reply, JSON.stringify(document, undefined, isPretty(request) ? 2 : undefined));
    });
    for (const [path, select] of Object.entries(METRIC_PATHS)) {
      server.get(`${base}/${path}`, NUMBERS, (request, reply) => {
        const scope = findScope(application, request.query as Query);
        const { name = '' } = request.params as { name?: string };
        // Same conversion as in the classifier: finds a name as it is shown and as clients send it.
        const metrics = select(scope, sanitizeText(name));
        // A session's timers cover the whole session, so there is no window.
        if (!scope.isSession) reply.header('metrics-window', windowSeconds);
        return sendMetrics(request, reply, metrics);
      });
    }
    for (const [path, select] of Object.entries(JVM_PATHS)) {
      server.get(`${base}/${path}`, NUMBERS, (request, reply) => {
        const state = readJvm(monitored.jvm);
        const metrics = select(state);
        const source = `${state.source}; memory=${state.reading.memory}`;
        // The age of a stored answer, RFC 9111 §5.1.
        const age = String(Math.floor(state.ageMs / 1000));
        reply.headers({ age, 'metrics-source': source, 'metrics-window': windowSeconds });
        return sendMetrics(request, reply, [metrics]);
      });
    }
  }
}

function addHealthRoutes(server: FastifyInstance, health: Monitored['health']): void {
  const send = (reply: FastifyReply, isWell: boolean) =>
    sendJson(reply.code(isWell ? 200 : 503), `{"status":"${isWell ? 'ok' : 'unavailable'}"}`);
  // Tests the event loop only: any answer means that it runs.
  server.get('/livez', OPEN, (_request, reply) => send(reply, true));
  server.get('/readyz', OPEN, async (_request, reply) => send(reply, await health.isReady()));
  server.get('/startupz', OPEN, (_request, reply) => send(reply, health.isStarted));
}

/** The document only changes with a restart. The first request loads its code and generates it. */
function addDocumentRoute(server: FastifyInstance, { applications, sidecar: { version } }: Monitored): void {
  let made: string | undefined;
  server.get('/openapi.json', NUMBERS, async (_request, reply) => {
    const { createDocument } = await import('./openapi/document.ts');
    made ??= createDocument({ version, applications: applications.map(({ name }) => name) });
    return sendJson(reply, made);
  });
}

/** Throws 503 with the reason if the last reading is missing or too old. */
function readJvm({ state }: Monitored['jvm']): AvailableJvm {
  if (state.kind === 'available') return state;
  throw createUnavailable(state.reason, state.sinceEpochMs);
}

/** Throws 503 if the source has none of its values. */
function readServer({ server, source, sinceEpochMs }: AvailableJvm): MetricSet {
  const metrics = createServerGauges(server);
  if (metrics.gauges.size > 0) return metrics;
  const reason = `The source of the JVM’s numbers (${source}) does not report the server’s capacity (docs/jvm.md).`;
  throw createUnavailable(reason, sinceEpochMs);
}

function createUnavailable(reason: string, sinceEpochMs: number): Problem {
  return new Problem(503, reason, { members: { since: formatIso(sinceEpochMs) } });
}

function findScope({ statistics, sessions }: MonitoredApplication, { session: id }: Query): Scope {
  if (id === undefined) return { statistics, metrics: () => sessions.metrics(), isSession: false };
  if (typeof id !== 'string' || id === '') {
    throw new Problem(400, 'The parameter "session" must be exactly one session id.');
  }
  const session = sessions.find(id);
  if (session === undefined) throw new Problem(404, 'There is no active session with that id.');
  return { statistics: session.statistics, metrics: () => session.metrics(), isSession: true };
}

function found(scope: Scope, what: string, name: string, ...sets: (MetricSet | undefined)[]): MetricSet[] {
  const known = sets.filter((set) => set !== undefined);
  if (known.length > 0) return known;
  const where = scope.isSession ? ' in that session' : '';
  // Call names have no path parameters. A reader's request may hold a session id in them (`;jsessionid=`).
  throw new Problem(404, `No ${what} named "${name.split(';', 1)[0]}" has been seen${where}.`);
}

/** The router reads `:` and `*` as captures; `::` is a plain colon. */
function formatRoutePrefix(application: string): string {
  return application === '' ? '' : `/${application.replaceAll(':', '::')}`;
}
