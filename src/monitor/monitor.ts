/**
 * The read-only monitoring server on its own port. It reads statistics, sessions and the JVM's condition through the
 * interfaces of monitored.ts. It must not change anything, and accepts only GET and HEAD. routes.ts lists its
 * endpoints.
 */

import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Server as TlsServer } from 'node:tls';
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { systemClock } from '../base/clock.ts';
import { StartError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { Problem } from '../base/problem.ts';
import type { Config, HostPort } from '../config/config.ts';
import type { LimitHits } from '../limits/limit-hits.ts';
import type { ListenerTls } from '../tls/listener-tls.ts';
import { type Guard, methodNotAllowed, neededFor } from './guard.ts';
import { LoopShare } from './loop-share.ts';
import { MonitorConnections } from './monitor-connections.ts';
import type { Monitored } from './monitored.ts';
import { addRoutes, type MetricsOptions } from './routes.ts';
import { AnswerLimit, NO_CACHE, SECURITY_FIELDS, sendProblem } from './send.ts';

/** Enough for names of 512 characters, each up to 12 bytes when percent-encoded. */
const MAX_PARAM_LENGTH = 8 * 1024;
/** Precision of the time limit for requests: Node checks all connections at this interval. */
const CHECK_INTERVAL_MS = 1_000;
/** Largest request head. Node's default, set here so that options of the process cannot change it. */
const MAX_HEAD_BYTES = 16 * 1024;
/** The kernel lowers it to its own maximum. */
const LONGEST_BACKLOG = 65_535;

/** No route has a schema. Fastify's compilers are not loaded, and are not in the build (rolldown.config.js). */
export const NO_SCHEMAS = { compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema } };

export type MonitorLimits = Pick<
  Config['monitor'],
  'maxConnections' | 'maxConnectionsPerAddress' | 'headTimeoutMs' | 'idleTimeoutMs' | 'maxAnswerBytes'
>;

export interface MonitorPort {
  /** Absent: plain HTTP. */
  readonly tls?: ListenerTls | undefined;
  readonly limits: MonitorLimits;
  readonly hits: LimitHits;
}

const ADMIN_PATH = /^\/(?:(.*)\/)?api\/rest\/v0\/admin\//;

export class Monitor {
  readonly connections: MonitorConnections;
  readonly #server: FastifyInstance;
  readonly #guard: Guard;
  readonly #logger: Logger;
  readonly #hits: LimitHits;
  readonly #answers: AnswerLimit;

  constructor(monitored: Monitored, options: MetricsOptions, guard: Guard, logger: Logger, port: MonitorPort) {
    const { tls, limits, hits } = port;
    this.#guard = guard;
    this.#logger = logger;
    this.#hits = hits;
    this.#answers = new AnswerLimit(limits.maxAnswerBytes, hits);
    this.connections = new MonitorConnections(limits, hits, new LoopShare(systemClock, options.nextTurn));
    const applications = new Set(monitored.applications.map(({ name }) => name));
    const { headTimeoutMs, idleTimeoutMs } = limits;
    const http = {
      ...{ maxHeaderSize: MAX_HEAD_BYTES, requireHostHeader: false },
      ...{ headersTimeout: headTimeoutMs, connectionsCheckingInterval: Math.min(headTimeoutMs, CHECK_INTERVAL_MS) },
    };
    this.#server = Fastify({
      requestTimeout: headTimeoutMs,
      keepAliveTimeout: idleTimeoutMs,
      // Also ends a connection whose client does not read its answer.
      connectionTimeout: idleTimeoutMs,
      // `close` must not wait for a scraper's idle connection.
      forceCloseConnections: true,
      // The guard checks for a missing Host: Node's own answer would lack the security fields.
      http,
      // Both kinds of server are used alike, but Fastify's types distinguish them.
      ...((tls && { https: { ...tls.serverOptions(headTimeoutMs), ...http } }) as object | undefined),
      schemaController: NO_SCHEMAS,
      routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_PARAM_LENGTH },
      frameworkErrors: (error, request, reply) =>
        void this.#onUnroutable(error as FastifyError, request as FastifyRequest, reply as FastifyReply),
      clientErrorHandler: (error, socket) => this.#onClientError(error, socket),
    });
    this.#server.decorateRequest('reader');
    this.#server.addHook('onRequest', async (request, reply) => {
      reply.headers(SECURITY_FIELDS);
      request.reader = await this.#guard(request);
      // An open route needs no credential, so its requests do not protect a connection.
      const isOpen = neededFor(request) === 'open';
      if (!isOpen) this.connections.accepted(request.raw.socket);
      this.#answers.check(request.raw.url ?? '');
      if (!isOpen) monitored.catchUp();
    });
    this.#server.addHook('onSend', async (request, _reply, payload) => {
      this.#answers.limit(request.raw.url ?? '', payload);
    });
    this.#server.setErrorHandler((error: FastifyError, _request, reply) => this.#onError(error, reply));
    this.#server.setNotFoundHandler((request, reply) => sendProblem(reply, createNotFound(request, applications)));
    addRoutes(this.#server, monitored, options);
    // Node would not answer a client that ends its side after its request, such as `nc -N`.
    Object.assign(this.#server.server, { httpAllowHalfOpen: true });
    answerOddRequests(this.#server.server);
    tls?.attach(this.#server.server as unknown as TlsServer);
    this.connections.attach(this.#server.server);
    this.#server.server.on('timeout', (socket) => {
      hits.hit('monitor.idleTimeout');
      socket.destroy();
    });
  }

  /** The limit on answers applies at once; limits of time and number apply to new connections. */
  reconfigure(limits: MonitorLimits): void {
    const { headTimeoutMs, idleTimeoutMs, maxAnswerBytes } = limits;
    const { server } = this.#server;
    this.connections.reconfigure(limits);
    server.headersTimeout = headTimeoutMs;
    server.requestTimeout = headTimeoutMs;
    server.keepAliveTimeout = idleTimeoutMs;
    server.timeout = idleTimeoutMs;
    this.#answers.limitTo(maxAnswerBytes);
  }

  /** Opens the listener, or takes over `descriptor`, and returns the bound address. Throws `D2S_ERR_LISTEN`. */
  async listen(address: HostPort, descriptor?: number): Promise<HostPort> {
    try {
      if (descriptor === undefined) await this.#server.listen({ host: address.host, port: address.port });
      else {
        await this.#server.ready();
        await once(this.#server.server.listen({ fd: descriptor }, LONGEST_BACKLOG), 'listening');
      }
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
    const closed = this.#server.close();
    // Fastify closes the connections only of a listener that it has opened itself.
    this.#server.server.closeAllConnections();
    await closed;
  }

  #onClientError(error: ClientError, socket: Socket): void {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') this.#hits.hit('monitor.headTimeout');
    endWith(socket, chooseClientProblem(error));
  }

  /** For requests that the router cannot parse; it skips the hooks for them, so the guard runs here. */
  async #onUnroutable(error: FastifyError, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    reply.headers(SECURITY_FIELDS);
    try {
      await this.#guard(request, 'metrics');
      this.#onError(error, reply);
    } catch (refusal) {
      this.#onError(refusal as FastifyError, reply);
    }
  }

  #onError(error: FastifyError, reply: FastifyReply): FastifyReply {
    if (error instanceof Problem) return sendProblem(reply, error);
    const status = error.statusCode ?? 500;
    if (status < 500) return sendProblem(reply, new Problem(400, 'The request cannot be read.'));
    this.#logger.error({ error: error.name, code: error.code }, 'a monitoring request failed');
    return sendProblem(reply, new Problem(500, 'The answer could not be generated; the log says more.'));
  }
}

function refuseSchema(): never {
  throw new Error('routes have no schemas');
}

function createNotFound(request: FastifyRequest, applications: ReadonlySet<string>): Problem {
  const application = ADMIN_PATH.exec(request.url)?.[1];
  const known = [...applications].map((name) => `"${name}"`).join(', ');
  if (application !== undefined && !applications.has(application)) {
    return new Problem(404, `There is no such application here; known: ${known}.`);
  }
  return new Problem(404, 'There is no such path on the monitoring port.');
}

/** Handles requests that Node would answer itself, or drop. */
function answerOddRequests(server: Server): void {
  server.on('connect', (_request, socket) => endWith(socket as Socket, methodNotAllowed()));
  // No `100 Continue`: the answer does not depend on the content, so it is sent at once (RFC 9110 §10.1.1).
  const asUsual = (...parts: unknown[]) => void server.emit('request', ...parts);
  server.on('checkContinue', asUsual).on('checkExpectation', asUsual);
}

/** Of Node's `clientError`; `rawPacket` are the bytes that it could not read. */
type ClientError = Error & { readonly code?: string; readonly rawPacket?: unknown };

const ANY_METHOD = /^[\w!#$%&'*+.^`|~-]+ \S+ HTTP\/1\.[01]\r\n/;

function chooseClientProblem({ code, rawPacket }: ClientError): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') return new Problem(431, `The head is larger than ${MAX_HEAD_BYTES} bytes.`);
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Problem(408, 'The request did not arrive in time.');
  // Node gives this code for a method that it does not know, and for bytes of another protocol.
  const isMethod = code === 'HPE_INVALID_METHOD' && ANY_METHOD.test(String(rawPacket));
  return isMethod ? methodNotAllowed() : new Problem(400, 'The request is not HTTP/1.1.');
}

/** Sends a problem on a socket that has no reply. */
function endWith(socket: Socket, problem: Problem): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { status, title, body } = problem;
  const fields = Object.entries({
    'Content-Type': 'application/problem+json',
    'Content-Length': String(Buffer.byteLength(body)),
    'Cache-Control': NO_CACHE,
    ...SECURITY_FIELDS,
    ...problem.fields,
    Connection: 'close',
  }).map(([name, value]) => `${name}: ${String(value)}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${title}\r\n${fields.join('')}\r\n${body}`);
}
