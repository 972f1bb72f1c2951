/**
 * The data of the live page. Its form follows the page and may change, so nothing else should read it
 * (docs/live-page.md). This folder serves the page and its data; it must not change the rest of the program.
 *
 * | Path | Role | Answer |
 * |---|---|---|
 * | `/live` | `metrics` | conditions, the last hour in steps, marks; `?since=<seq>` gives only later steps |
 * | `/live/<application>/rpc`, `sba`, `objects` | `metrics` | one row per name |
 * | `/live/<application>/sessions` | `sessions` | one row per session |
 * | `/live/<application>/running`, `slowest` | `sessions` | one row per call |
 * | `/live/<application>/unclassified` | `sessions` | one row per path, of all applications |
 *
 * The root context has the application name `-`.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from '../../base/problem.ts';
import { ALL, NUMBERS } from '../guard.ts';
import type { LoopShare } from '../loop-share.ts';
import type { Monitored, MonitoredApplication, MonitoredLive } from '../monitored.ts';
import { sendPieces } from '../send.ts';
import { renderLive } from './live-document.ts';
import {
  renderCalls,
  renderObjects,
  renderRunning,
  renderSessionRows,
  renderSlowest,
  renderUnclassified,
} from './live-tables.ts';

/** Path segment of the application without a name. */
const ROOT = '-';

export interface LiveOptions {
  readonly windowMs: number;
  readonly share: LoopShare;
}

export function addLiveRoutes(
  server: FastifyInstance,
  monitored: Monitored,
  live: MonitoredLive,
  { windowMs, share }: LiveOptions,
): void {
  const { applications } = monitored;
  server.get('/live', NUMBERS, (request, reply) => {
    const role = request.reader?.role ?? 'metrics';
    const since = toSince(request.query as Query);
    if (request.method === 'GET') probeInDoubt(monitored, live);
    return sendPieces(request, reply, renderLive(monitored, live, { role, since, windowMs }), share);
  });
  const tables = {
    rpc: (application: MonitoredApplication) => renderCalls('rpc', application, live),
    sba: (application: MonitoredApplication) => renderCalls('sba', application, live),
    objects: renderObjects,
  } as const;
  for (const [table, render] of Object.entries(tables)) {
    server.get(`/live/:application/${table}`, NUMBERS, (request, reply) =>
      sendPieces(request, reply, render(applicationOf(request, applications)), share),
    );
  }
  const personalTables = {
    sessions: ({ name }: MonitoredApplication) => renderSessionRows(live.sessionsOf(name)),
    running: renderRunning,
    slowest: renderSlowest,
    unclassified: () => renderUnclassified(live),
  } as const;
  for (const [table, render] of Object.entries(personalTables)) {
    server.get(`/live/:application/${table}`, ALL, (request, reply) =>
      sendPieces(request, reply, render(applicationOf(request, applications)), share),
    );
  }
}

type Query = Readonly<Record<string, string | string[] | undefined>>;

function toSince({ since = '0' }: Query): number {
  if (typeof since === 'string' && /^\d{1,15}$/.test(since)) return Number(since);
  throw new Problem(400, 'The parameter "since" must be the number of a step, e.g. since=17.');
}

/** Without traffic nothing else notices that the upstream is back, so opening the page triggers a probe. */
function probeInDoubt({ sidecar }: Monitored, live: MonitoredLive): void {
  if (sidecar.upstream.reachability.kind !== 'reachable') void live.probe();
}

function applicationOf(
  { params }: FastifyRequest,
  applications: readonly MonitoredApplication[],
): MonitoredApplication {
  const { application: segment } = params as { application: string };
  const named = (name: string) => applications.find((application) => application.name === name);
  const found = named(segment) ?? (segment === ROOT ? named('') : undefined);
  if (found !== undefined) return found;
  const known = applications.map(({ name }) => `"${name === '' ? ROOT : name}"`).join(', ');
  throw new Problem(404, `There is no such application here; known: ${known}.`);
}
