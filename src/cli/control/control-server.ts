/**
 * The control socket of a running sidecar: HTTP on a Unix socket. Besides signals it is the only way to change anything
 * in it, so only its own user can connect (mode 0600, in a folder where nobody else can write).
 */
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import type { Server } from 'node:http';
import path from 'node:path';
import Fastify from 'fastify';
import { describeErrno } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { NO_SCHEMAS } from '../../monitor/monitor.ts';
import { addControlRoutes, type Controllable } from './control-routes.ts';
import { ControlError } from './protocol.ts';
import { isWindowsPipe, makePrivateFolder, removeStale } from './socket-folder.ts';

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

export class ControlServer {
  readonly path: string;
  readonly #server: Server;

  /** Opens the socket. Throws D2S_ERR_CONTROL if it cannot be created, or if another process already listens there. */
  static async open(
    socketPath: string,
    target: Controllable,
    logger: Logger,
    requestTimeoutMs: number = REQUEST_TIMEOUT_MS,
    answerTimeoutMs: number = ANSWER_TIMEOUT_MS,
  ): Promise<ControlServer> {
    const app = Fastify({
      bodyLimit: MAX_BODY_BYTES,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: requestTimeoutMs,
      // Also ends a connection whose client does not read its answer.
      connectionTimeout: answerTimeoutMs,
      http: {
        headersTimeout: requestTimeoutMs,
        connectionsCheckingInterval: requestTimeoutMs,
        requireHostHeader: false,
      },
      schemaController: NO_SCHEMAS,
    });
    addControlRoutes(app, target, logger);
    await app.ready();
    const { server } = app;
    const control = new ControlServer(socketPath, server, logger);
    try {
      await (isWindowsPipe(socketPath)
        ? once(server.listen(socketPath), 'listening')
        : listenPrivately(server, socketPath));
    } catch (cause) {
      server.close();
      if (cause instanceof ControlError) throw cause;
      throw new ControlError(`${socketPath} cannot be opened: ${describeErrno(cause)}`, cause);
    }
    server.on('error', (error) => logger.warn({ reason: describeErrno(error) }, 'control socket failed'));
    return control;
  }

  private constructor(socketPath: string, server: Server, logger: Logger) {
    this.path = socketPath;
    this.#server = server;
    server.unref();
    server.on('connection', (socket) => socket.unref());
    server.maxConnections = MAX_CLIENTS;
    // Logged once: a client that keeps connecting must not fill the log.
    server.once('drop', () => logger.warn({ clients: MAX_CLIENTS }, 'the control socket refuses clients'));
  }

  /** Stops accepting requests and removes the socket. Clients of `shutdown` stay connected until the process ends. */
  close(): void {
    this.#server.close();
  }

  destroy(): void {
    this.close();
    this.#server.closeAllConnections();
  }
}

/** Makes a socket file that only this user can open, in a folder that only this user can change. */
async function listenPrivately(server: Server, socketPath: string): Promise<void> {
  if (Buffer.byteLength(socketPath, 'utf8') > MAX_PATH_BYTES) {
    throw new ControlError(`${socketPath} is longer than the ${MAX_PATH_BYTES} bytes that a socket's path may have`);
  }
  makePrivateFolder(path.dirname(path.resolve(socketPath)));
  await removeStale(socketPath);
  // The socket is never open to other users, not even between bind and chmod: listen() binds synchronously.
  // Reset the umask before the await: other files may be created in between.
  const umask = process.umask(SOCKET_UMASK);
  const listening = once(server.listen(socketPath), 'listening');
  process.umask(umask);
  await listening;
  chmodSync(socketPath, SOCKET_MODE);
}
