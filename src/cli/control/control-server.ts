/**
 * The control socket of a running sidecar: HTTP on a Unix socket. Besides signals it is the only way to change anything
 * in it, so only its own user can connect (mode 0600, in a folder where nobody else can write). This folder knows
 * nothing of traffic; a `Controllable` carries out the commands.
 *
 * On Windows it is a named pipe, and an empty file shows it to commands. libuv sets no access control list. Then the user,
 * administrators and LocalSystem may read and write; all others, also of other machines over SMB, may only read, so that
 * they can send no request (CreateNamedPipe in Microsoft's documentation; not tried). libuv asks for the first instance of
 * the name: if another program has the name, listening fails and no file appears.
 */
import { once } from 'node:events';
import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, Server } from 'node:http';
import path from 'node:path';
import Fastify, { type FastifyError, type FastifyInstance } from 'fastify';
import { describeErrno, SidecarError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { platform } from '../../base/platform/platform.ts';
import { Problem } from '../../base/problem.ts';
import { sanitizeText } from '../../base/shown-text.ts';
import { NO_SCHEMAS } from '../../monitor/monitor.ts';
import { sendProblem } from '../../monitor/send.ts';
import type { Sidecar } from '../../sidecar/sidecar.ts';
import { ControlError, type ControlStatus, type ReloadAnswer, SERVER_NAME } from './protocol.ts';
import { makePrivateFolder, removeStale } from './socket-folder.ts';

/** Our own clients send their request at once; a silent client is not one of them. */
const REQUEST_TIMEOUT_MS = 5_000;
/** A reload may read from a slow file system, and a JVM may be slow to stop its threads. */
const ANSWER_TIMEOUT_MS = 60_000;
/** No request has a body. */
const MAX_BODY_BYTES = 1;
/** Enough for a drain, a shutdown and a few watchers. Others are refused. */
const MAX_CLIENTS = 16;
/** sockaddr_un holds 104 bytes on some systems, 108 on others; Node would truncate a longer path. */
const MAX_PATH_BYTES = 103;
const SOCKET_UMASK = 0o177;
const SOCKET_MODE = 0o600;

export type ControlServer = Awaited<ReturnType<typeof openControlServer>>;

/** Opens the socket. Throws D2S_ERR_CONTROL if it cannot be created, or if another process already listens there. */
export async function openControlServer(
  socketPath: string,
  target: Controllable,
  logger: Logger,
  requestTimeoutMs: number = REQUEST_TIMEOUT_MS,
  answerTimeoutMs: number = ANSWER_TIMEOUT_MS,
) {
  const app = Fastify({
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: requestTimeoutMs,
    // Also ends a connection whose client does not read its answer.
    connectionTimeout: answerTimeoutMs,
    http: {
      ...{ headersTimeout: requestTimeoutMs, connectionsCheckingInterval: requestTimeoutMs },
      requireHostHeader: false,
    },
    schemaController: NO_SCHEMAS,
  });
  addControlRoutes(app, target, logger);
  await app.ready();
  const { server } = app;
  server.unref();
  server.on('connection', (socket) => socket.unref());
  server.maxConnections = MAX_CLIENTS;
  // Logged once: a client that keeps connecting must not fill the log.
  server.once('drop', () => logger.warn({ clients: MAX_CLIENTS }, 'the control socket refuses clients'));
  try {
    await (platform.isPipe(socketPath)
      ? once(server.listen(socketPath), 'listening')
      : listenPrivately(server, socketPath));
  } catch (cause) {
    server.close();
    if (cause instanceof ControlError) throw cause;
    throw new ControlError(`${socketPath} cannot be opened: ${describeErrno(cause)}`, cause);
  }
  server.on('error', (error) => logger.warn({ reason: describeErrno(error) }, 'control socket failed'));
  /** Stops accepting requests and removes the socket. Clients of `shutdown` stay connected until the process ends. */
  const close = (): void => {
    if (isBeside(socketPath)) rmSync(socketPath, { force: true });
    server.close();
  };
  return {
    ...{ path: socketPath, close },
    destroy(): void {
      close();
      server.closeAllConnections();
    },
  };
}

/** Makes a socket file that only this user can open, in a folder that only this user can change. */
async function listenPrivately(server: Server, socketPath: string): Promise<void> {
  const address = platform.controlAddressOf(socketPath);
  if (Buffer.byteLength(address, 'utf8') > MAX_PATH_BYTES) {
    throw new ControlError(`${socketPath} is longer than the ${MAX_PATH_BYTES} bytes that a socket's path may have`);
  }
  makePrivateFolder(path.dirname(path.resolve(socketPath)));
  await removeStale(socketPath);
  // The socket is never open to other users, not even between bind and chmod: listen() binds synchronously.
  // Reset the umask before the await: other files may be created in between.
  const umask = process.umask(SOCKET_UMASK);
  const listening = once(server.listen(address), 'listening');
  process.umask(umask);
  await listening;
  if (isBeside(socketPath)) writeFileSync(socketPath, '', { flag: 'wx' });
  chmodSync(socketPath, SOCKET_MODE);
}

/** Whether the file of the path is not the socket itself, but shows it. */
function isBeside(socketPath: string): boolean {
  return platform.controlAddressOf(socketPath) !== socketPath;
}

export interface Controllable {
  readonly sidecar: Pick<
    Sidecar,
    'isReady' | 'report' | 'dumpThreads' | 'top' | 'history' | 'summarize' | 'archive' | 'alerts'
  >;
  status(): ControlStatus;
  drain(): void;
  /** Never rejects. */
  reload(): Promise<ReloadAnswer>;
  shutdown(): void;
}

function addControlRoutes(app: FastifyInstance, target: Controllable, logger: Logger): void {
  const { sidecar } = target;
  app.addHook('onRequest', async (_request, reply) => void reply.header('server', SERVER_NAME));
  app.setNotFoundHandler((_request, reply) =>
    sendProblem(reply, new Problem(404, 'this sidecar does not know that command: run the command of its version')),
  );
  app.setErrorHandler((error: FastifyError, _request, reply) => {
    if (error instanceof Problem) return sendProblem(reply, error);
    if (error instanceof SidecarError)
      return sendProblem(reply, new Problem(503, error.message, { members: { code: error.code } }));
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
  app.get<{ Querystring: { seconds: string } }>('/summary', ({ query }) => sidecar.summarize(Number(query.seconds)));
  /** Answers with the status afterwards. */
  const addCommand = (path: string, act: (query: Partial<Record<string, string>>, raw: IncomingMessage) => unknown) =>
    app.post<{ Querystring: Partial<Record<string, string>> }>(path, async ({ query, raw }) => {
      await act(query, raw);
      return target.status();
    });
  addCommand('/note', ({ text = '' }) => sidecar.history.mark('note', sanitizeText(text)));
  addCommand('/history/backup', async ({ file = '' }, { socket }) => {
    // Some gigabytes take longer than other answers.
    socket.setTimeout(0);
    await sidecar.archive.backUp(file);
  });
  app.post('/alerts/test', async () => await sidecar.alerts.test());
  addCommand('/alerts/silence', ({ ms, text = '' }) => sidecar.alerts.silence(Number(ms), sanitizeText(text)));
  addCommand('/drain', () => target.drain());
  app.post('/reload', async () => ({ reload: await target.reload(), status: target.status() }));
  // The body ends with the process: that is how the client learns that the sidecar has stopped.
  app.post('/shutdown', async ({ raw }, reply) => {
    raw.socket.setTimeout(0);
    reply.hijack();
    reply.raw.writeHead(200, { server: SERVER_NAME, 'content-type': 'application/json' });
    reply.raw.write(JSON.stringify(target.status()));
    target.shutdown();
  });
}
