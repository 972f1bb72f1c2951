/**
 * The data of the live page. Its form follows the page and may change, so nothing else should read it
 * (docs/live-page.md). This folder serves the page and its data; it must not change the rest of the program.
 *
 * `/live` has conditions, the last hour in steps, and marks; `?since=<seq>` gives only later steps. A table has one row
 * per name, session, or unclassified path of all applications. A name has its minutes, and for the role `sessions` also
 * its callers and calls; a session has its calls.
 */
import { pipeline } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../../base/problem.ts';
import { sanitizeText } from '../../base/shown-text.ts';
import type { Role } from '../access/reader.ts';
import { NUMBERS } from '../guard.ts';
import type { LoopShare } from '../loop-share.ts';
import type { Monitored, MonitoredApplication } from '../monitored.ts';
import { negotiateCoding } from '../negotiate.ts';
import { SlicedAnswer, sendPieces } from '../send.ts';
import { renderLive } from './live-document.ts';
import { readCalls, readObjects, readSessions, renderName, renderSession, renderTable } from './live-tables.ts';

/** Path segment of the application without a name. */
const ROOT = '-';

export function addLiveRoutes(server: FastifyInstance, monitored: Monitored, share: LoopShare): void {
  const { applications, live } = monitored;
  server.get('/live', { ...NUMBERS, onSend: compress }, (request, reply) => {
    const role = request.reader?.role ?? 'metrics';
    const since = parseSince(request.query as Query);
    if (request.method === 'GET') probeInDoubt(monitored);
    return sendPieces(request, reply, renderLive(monitored, { role, since }), share);
  });
  const addTable = (table: string, access: Role, read: (application: MonitoredApplication) => Iterable<object>) =>
    server.get(`/live/:application/${table}`, { config: { access }, onSend: compress }, (request, reply) =>
      sendPieces(request, reply, renderTable(read(applicationOf(request, applications))), share),
    );
  addTable('rpc', 'metrics', (application) => readCalls('rpc', application, live));
  addTable('sba', 'metrics', (application) => readCalls('sba', application, live));
  addTable('objects', 'metrics', readObjects);
  addTable('sessions', 'sessions', ({ name }) => readSessions(live.sessionsOf(name)));
  addTable('unclassified', 'sessions', () => live.unclassified.readPaths());
  const addItem = (table: string, key: 'name' | 'id', access: Role, render: RenderItem) =>
    server.get(`/live/:application/${table}/:${key}`, { config: { access }, onSend: compress }, (request, reply) => {
      const { [key]: item = '' } = request.params as Readonly<Record<string, string>>;
      const role = request.reader?.role ?? 'metrics';
      return sendPieces(request, reply, render(sanitizeText(item), applicationOf(request, applications), role), share);
    });
  for (const [table, kind] of Object.entries({ rpc: 'rpc', sba: 'sba', objects: 'object' } as const)) {
    addItem(table, 'name', 'metrics', (name, application, role) => renderName(kind, name, application, live, role));
  }
  addItem('sessions', 'id', 'sessions', renderSession);
}

/** An hour of steps has 280 kB, and a tenth of that compressed. zlib does it beside the event loop. */
async function compress({ headers, method }: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> {
  if (!(payload instanceof SlicedAnswer)) return payload;
  reply.header('vary', 'accept-encoding');
  const coding = negotiateCoding(headers['accept-encoding'], ['gzip']);
  if (method === 'HEAD' || coding === undefined) return payload;
  reply.header('content-encoding', coding);
  const gzip = createGzip({ level: constants.Z_BEST_SPEED });
  pipeline(payload, gzip, () => undefined);
  return gzip;
}

type RenderItem = (item: string, application: MonitoredApplication, role: Role) => Iterable<string>;

type Query = Readonly<Record<string, string | string[] | undefined>>;

function parseSince({ since = '0' }: Query): number {
  if (typeof since === 'string' && /^\d{1,15}$/.test(since)) return Number(since);
  throw new Problem(400, 'The parameter "since" must be the number of a step, e.g. since=17.');
}

/** Without traffic nothing else notices that the upstream is back, so opening the page triggers a probe. */
function probeInDoubt({ sidecar, live }: Monitored): void {
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
