/**
 * What the control socket answers. This folder knows nothing of traffic; a `Controllable` carries out the commands.
 *
 * | Request | Answer |
 * |---|---|
 * | `GET /status` | a `ControlStatus` |
 * | `GET /health` | `{ status, isReady }` |
 * | `GET /report?users=true` | the report, while it is written; `users=false` leaves out user names and addresses |
 * | `GET /threads` | a thread dump of the server's JVM, as text |
 * | `GET /top` | the data of `top` |
 * | `POST /drain` | a `ControlStatus` |
 * | `POST /reload` | `{ status, reload }` |
 * | `POST /shutdown` | a `ControlStatus`; the body ends when the process does, which is how the client notices |
 */
import type { Readable } from 'node:stream';
import type { FastifyError, FastifyInstance, FastifyReply } from 'fastify';
import { SidecarError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { Problem } from '../../base/problem.ts';
import { type ControlStatus, type ReloadAnswer, SERVER_NAME } from './protocol.ts';

export interface Controllable {
  status(): ControlStatus;
  /** The answer of `/readyz`. Never rejects. */
  isReady(): Promise<boolean>;
  /** One JSON document. */
  report(includesUsers: boolean): Promise<Readable>;
  /** A thread dump of the JVM. Rejects with a SidecarError. */
  dumpThreads(): Promise<string>;
  /** One JSON document. */
  top(): string;
  drain(): void;
  /** Never rejects. */
  reload(): Promise<ReloadAnswer>;
  shutdown(): void;
}

export function addControlRoutes(app: FastifyInstance, sidecar: Controllable, logger: Logger): void {
  app.addHook('onRequest', async (_request, reply) => void reply.header('server', SERVER_NAME));
  app.setNotFoundHandler((_request, reply) =>
    sendProblem(reply, new Problem(404, 'this sidecar does not know that command: run the command of its version')),
  );
  app.setErrorHandler((error: FastifyError, _request, reply) => {
    if (error instanceof Problem) return sendProblem(reply, error);
    if (error instanceof SidecarError) return sendProblem(reply, new Problem(503, error.message));
    const { statusCode: status = 500 } = error;
    if (status < 500) return sendProblem(reply, new Problem(status, 'the request cannot be read'));
    logger.warn({ error: error.name }, 'a command failed');
    return sendProblem(reply, new Problem(500, 'an unexpected error'));
  });

  app.get('/status', async () => sidecar.status());
  app.get('/health', async () => ({ isReady: await sidecar.isReady(), status: sidecar.status() }));
  app.get<{ Querystring: { users?: string } }>('/report', async ({ query }, reply) => {
    const report = await sidecar.report(query.users === 'true');
    report.once('error', ({ name }) => logger.warn({ error: name }, 'a report was cut off'));
    return reply.type('application/json').send(report);
  });
  app.get('/threads', async () => await sidecar.dumpThreads());
  app.get('/top', async (_request, reply) => reply.type('application/json').send(sidecar.top()));
  app.post('/drain', async () => {
    sidecar.drain();
    return sidecar.status();
  });
  app.post('/reload', async () => ({ reload: await sidecar.reload(), status: sidecar.status() }));
  app.post('/shutdown', async ({ raw }, reply) => {
    raw.socket.setTimeout(0);
    reply.hijack();
    reply.raw.writeHead(200, { server: SERVER_NAME, 'content-type': 'application/json' });
    reply.raw.write(JSON.stringify(sidecar.status()));
    sidecar.shutdown();
  });
}

function sendProblem(reply: FastifyReply, { status, body }: Problem): FastifyReply {
  return reply.code(status).type('application/problem+json').send(body);
}
