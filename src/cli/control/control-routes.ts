/**
 * The requests of the control socket. This folder knows nothing of traffic; a `Controllable` carries out the commands.
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
import type { FastifyError, FastifyInstance, FastifyReply } from 'fastify';
import { SidecarError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { Problem } from '../../base/problem.ts';
import type { Sidecar } from '../../sidecar/sidecar.ts';
import { type ControlStatus, type ReloadAnswer, SERVER_NAME } from './protocol.ts';

export interface Controllable {
  readonly sidecar: Pick<Sidecar, 'isReady' | 'report' | 'dumpThreads' | 'top'>;
  status(): ControlStatus;
  drain(): void;
  /** Never rejects. */
  reload(): Promise<ReloadAnswer>;
  shutdown(): void;
}

export function addControlRoutes(app: FastifyInstance, target: Controllable, logger: Logger): void {
  const { sidecar } = target;
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

  app.get('/status', async () => target.status());
  app.get('/health', async () => ({ isReady: await sidecar.isReady(), status: target.status() }));
  app.get<{ Querystring: { users?: string } }>('/report', async ({ query }, reply) => {
    const report = await sidecar.report(query.users === 'true');
    report.once('error', ({ name }) => logger.warn({ error: name }, 'a report was cut off'));
    return reply.type('application/json').send(report);
  });
  app.get('/threads', async () => await sidecar.dumpThreads());
  app.get('/top', async (_request, reply) => reply.type('application/json').send(sidecar.top()));
  app.post('/drain', async () => {
    target.drain();
    return target.status();
  });
  app.post('/reload', async () => ({ reload: await target.reload(), status: target.status() }));
  app.post('/shutdown', async ({ raw }, reply) => {
    raw.socket.setTimeout(0);
    reply.hijack();
    reply.raw.writeHead(200, { server: SERVER_NAME, 'content-type': 'application/json' });
    reply.raw.write(JSON.stringify(target.status()));
    target.shutdown();
  });
}

function sendProblem(reply: FastifyReply, { status, body }: Problem): FastifyReply {
  return reply.code(status).type('application/problem+json').send(body);
}
