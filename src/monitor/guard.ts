/**
 * What a request has to get past before any route sees it, in this order: its method, its size, the host that it asks for, its
 * credential, and the role that the route needs. Routes that say nothing need `sessions`, the most there is.
 */
import { TLSSocket } from 'node:tls';
import type { FastifyRequest } from 'fastify';
import { clientCertificateOf } from '../tls/client-certificate.ts';
import { AccessClosed } from './access/access-closed.ts';
import type { AccessControl } from './access/access-control.ts';
import { covers, type Reader, type Role } from './access/reader.ts';
import type { HostCheck } from './host-check.ts';
import { ProblemError } from './problem.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** `open`: no credential, and no name for the host; for answers without details. Default `sessions`. */
    readonly access?: Role | 'open';
  }
  interface FastifyRequest {
    /** Who asks; of an open route everybody. Undefined until the request has been admitted. */
    reader?: Reader;
  }
}

export interface GuardOptions {
  /** Undefined: everybody may read everything. Both are asked for with each request, and may be others then. */
  readonly access: AccessControl | AccessClosed | undefined;
  readonly hosts: HostCheck;
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
/** Some clients send an empty object with every request; more than that means something, which we would not do. */
const MAX_BODY_BYTES = 1024;

/** As long as a file that can be used again may take to be seen. */
const CLOSED_RETRY_S = '5';

const MISSING = 'This needs a user name and password, a token, or a client certificate that is listed here.';

const REALM = 'realm="d2-sidecar"';

/** For whoever comes without `monitor.auth`. */
const EVERYBODY: Reader = { name: '', role: 'sessions' };

export class Guard {
  readonly #options: GuardOptions;

  constructor(options: GuardOptions) {
    this.#options = options;
  }

  /**
   * Who asks, with enough of a role for what is asked; `needed` is for requests that the router could not read. Throws ProblemError:
   * 400, 401, 403, 405, 413, 421, 429, 503.
   */
  async admit(request: FastifyRequest, needed: Role | 'open' = neededFor(request)): Promise<Reader> {
    checkMethod(request);
    checkSize(request);
    // A probe that asks by name must not restart the application; and all it learns is that we are here.
    if (needed === 'open') return EVERYBODY;
    this.#checkHost(request);
    const reader = await this.#identify(request);
    checkRole(reader, needed, request);
    return reader;
  }

  #checkHost(request: FastifyRequest): void {
    const verdict = this.#options.hosts.verdict(request.raw.url ?? '', request.raw.headersDistinct.host ?? []);
    if (verdict === 'ours') return;
    if (verdict === 'unreadable') throw new ProblemError({ status: 400, detail: 'The host cannot be read.' });
    const detail = 'This port is not asked for by that name: use its address, or list the name in monitor.hosts.';
    throw new ProblemError({ status: 421, detail });
  }

  async #identify(request: FastifyRequest): Promise<Reader> {
    const { access } = this.#options;
    if (access === undefined) return EVERYBODY;
    if (access instanceof AccessClosed) throw toClosed(access);
    const { authorization } = request.headers;
    const { socket } = request.raw;
    const certificateName = socket instanceof TLSSocket ? clientCertificateOf(socket)?.user : undefined;
    const verdict = await access.check({ authorization, address: socket.remoteAddress ?? '', certificateName });
    switch (verdict.kind) {
      case 'known':
        return verdict.reader;
      case 'limited': {
        const detail = 'Too many credentials came from this address to verify another one now.';
        throw new ProblemError({ status: 429, detail, fields: { 'retry-after': String(verdict.retryAfterS) } });
      }
      case 'busy': {
        const detail = 'Too many passwords wait to be verified, and this one was not looked at.';
        throw new ProblemError({ status: 503, detail, fields: { 'retry-after': String(verdict.retryAfterS) } });
      }
      case 'missing':
        throw toUnauthorized(access, MISSING);
      case 'wrong':
        throw toUnauthorized(access, 'The credential is not right.');
    }
  }
}

/** That there is no such path is no secret to whoever may read at all. */
export function neededFor(request: FastifyRequest): Role | 'open' {
  return request.is404 ? 'metrics' : (request.routeOptions.config.access ?? 'sessions');
}

/** Before everything else, so that the answer is the same for everybody and on every path. */
function checkMethod({ method }: FastifyRequest): void {
  if (METHODS.has(method)) return;
  throw new ProblemError({ status: 405, detail: 'This port only takes GET and HEAD.', fields: { allow: 'GET, HEAD' } });
}

function checkSize({ headers }: FastifyRequest): void {
  const isSmall =
    headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) <= MAX_BODY_BYTES;
  if (isSmall) return;
  const detail = `A request here has no content, or at most ${MAX_BODY_BYTES} bytes of it.`;
  // What is left of it is not waited for.
  throw new ProblemError({ status: 413, detail, fields: { connection: 'close' } });
}

function checkRole(reader: Reader, needed: Role, request: FastifyRequest): void {
  if (!covers(reader.role, needed)) {
    throw new ProblemError({ status: 403, detail: `This needs the role ${needed}; yours is ${reader.role}.` });
  }
  // A session id is what the list of sessions gives, and what it leads to is one user's.
  const asksForSession = Object.hasOwn((request.query ?? {}) as object, 'session');
  if (asksForSession && !covers(reader.role, 'sessions')) {
    const detail = `The parameter "session" needs the role sessions; yours is ${reader.role}.`;
    throw new ProblemError({ status: 403, detail });
  }
}

function toClosed({ detail }: AccessClosed): ProblemError {
  return new ProblemError({ status: 503, detail, fields: { 'retry-after': CLOSED_RETRY_S } });
}

/** One field for each scheme: not every client reads two of them in one. */
function toUnauthorized(access: AccessControl, detail: string): ProblemError {
  const { hasUsers, hasTokens } = access.schemes;
  // A 401 has to say how to authenticate (RFC 9110 §15.5.2), which certificates have no challenge for.
  if (!hasUsers && !hasTokens) return new ProblemError({ status: 403, detail });
  const challenges = [
    ...(hasUsers ? [`Basic ${REALM}, charset="UTF-8"`] : []),
    ...(hasTokens ? [`Bearer ${REALM}`] : []),
  ];
  return new ProblemError({ status: 401, detail, fields: { 'www-authenticate': challenges } });
}
