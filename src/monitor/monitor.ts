/**
 * The read-only monitoring server on a port of its own. Reads statistics, sessions and the JVM's condition; changes nothing,
 * and takes nothing but GET and HEAD. Its endpoints: routes.ts.
 */
import type { AddressInfo, Socket } from 'node:net';
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { HostPort } from '../config/config.ts';
import { StartError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Monitored } from './monitored.ts';
import { type Problem, ProblemError, problemBody, sendProblem } from './problem.ts';
import { addRoutes, type MetricsOptions } from './routes.ts';

/** Names of up to 512 characters, each up to 12 bytes when percent-encoded. */
const MAX_PARAM_LENGTH = 8 * 1024;
/** A request here is one small head; whoever takes longer to send it holds a connection for nothing. */
const REQUEST_TIMEOUT_MS = 10_000;

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
const ADMIN_PATH = /^\/(?:(.*)\/)?api\/rest\/v0\/admin\//;

export class Monitor {
  readonly #server: FastifyInstance;
  readonly #logger: Logger;

  constructor(monitored: Monitored, options: MetricsOptions, logger: Logger) {
    this.#logger = logger;
    const applications = new Set(monitored.applications.map(({ name }) => name));
    this.#server = Fastify({
      requestTimeout: REQUEST_TIMEOUT_MS,
      // Stopping must not wait for a scraper's idle connection.
      forceCloseConnections: true,
      routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_PARAM_LENGTH },
      frameworkErrors: (error, _request, reply) => void this.#onError(error as FastifyError, reply as FastifyReply),
      clientErrorHandler: onClientError,
    });
    this.#server.addHook('onRequest', async (request, reply) => {
      reply.header('x-content-type-options', 'nosniff');
      if (METHODS.has(request.method)) return;
      const fields = { allow: 'GET, HEAD' };
      throw new ProblemError({ status: 405, detail: 'This port only takes GET and HEAD.', fields });
    });
    this.#server.setErrorHandler((error: FastifyError, _request, reply) => this.#onError(error, reply));
    this.#server.setNotFoundHandler((request, reply) => sendProblem(reply, toNotFound(request, applications)));
    addRoutes(this.#server, monitored, options);
  }

  /** Opens the listener; the address really bound. Throws `D2S_ERR_LISTEN`. */
  async listen(address: HostPort): Promise<HostPort> {
    try {
      await this.#server.listen({ host: address.host, port: address.port });
    } catch (cause) {
      const code = (cause as NodeJS.ErrnoException).code ?? String(cause);
      throw new StartError('D2S_ERR_LISTEN', `monitor: cannot listen on ${address.host}:${address.port}: ${code}`, {
        cause,
      });
    }
    const bound = this.#server.server.address() as AddressInfo;
    return { host: bound.address, port: bound.port };
  }

  async close(): Promise<void> {
    await this.#server.close();
  }

  #onError(error: FastifyError, reply: FastifyReply): FastifyReply {
    if (error instanceof ProblemError) return sendProblem(reply, error.problem);
    const status = error.statusCode ?? 500;
    if (status < 500) return sendProblem(reply, { status: 400, detail: 'The request cannot be read.' });
    this.#logger.error({ error: error.name, code: error.code }, 'a monitoring request failed');
    return sendProblem(reply, { status: 500, detail: 'The answer could not be made; the log says more.' });
  }
}

function toNotFound(request: FastifyRequest, applications: ReadonlySet<string>): Problem {
  const application = ADMIN_PATH.exec(request.url)?.[1];
  const known = [...applications].map((name) => `"${name}"`).join(', ');
  if (application !== undefined && !applications.has(application)) {
    return { status: 404, detail: `There is no such application here; known: ${known}.` };
  }
  return { status: 404, detail: 'There is no such path on the monitoring port.' };
}

function onClientError(_error: Error, socket: Socket): void {
  if (!socket.writable) return void socket.destroy();
  const body = problemBody({ status: 400, detail: 'The request is not HTTP/1.1.' });
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Type: application/problem+json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  );
}
