/**
 * Checks that each request has to pass before its route: method, size, host, credential, and the role that the route
 * needs, in this order. Routes without a role need `sessions`, the highest one.
 */

import type { IncomingMessage } from 'node:http';
import net from 'node:net';
import { TLSSocket } from 'node:tls';
import type { FastifyRequest } from 'fastify';
import { Problem } from '../base/problem.ts';
import { clientCertificateOf } from '../tls/listener-tls.ts';
import type { AccessControl } from './access/access-control.ts';
import { AccessClosed } from './access/monitor-access.ts';
import { covers, type Reader, type Role } from './access/reader.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** `open`: no check of credential or host, for answers without details. Default `sessions`. */
    readonly access?: Role | 'open';
  }
  interface FastifyRequest {
    /** Undefined until the request has been admitted; `EVERYBODY` on an open route. */
    reader?: Reader;
  }
}

export interface GuardOptions {
  /** Undefined: everybody may read everything. Both are read for each request, since a reload may replace them. */
  readonly access: () => AccessControl | AccessClosed | undefined;
  readonly hosts: () => HostCheck;
}

/** Options of a route: no role; the role for numbers; the role for user names, addresses and session ids too. */
export const OPEN = { config: { access: 'open' } } as const;
export const NUMBERS = { config: { access: 'metrics' } } as const;
export const ALL = { config: { access: 'sessions' } } as const;

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
/** Some clients send an empty object with every request. A larger body is meant for something unsupported. */
const MAX_BODY_BYTES = 1024;

/** A repaired file is noticed within that time. */
const CLOSED_RETRY_S = 5;
/** By then the passwords that evicted this one from the queue are verified, or evicted as well. */
const BUSY_RETRY_S = 1;
const OVER_LIMIT = 'Too many wrong credentials came from this address; this one is wrong too, or was not verified.';
const BUSY = 'Too many passwords wait to be verified; this one was not verified.';

const MISSING = 'This needs a user name and password, a token, or a listed client certificate.';

const REALM = 'realm="d2-sidecar"';

/** The reader without `monitor.auth`. */
const EVERYBODY: Reader = { name: '', role: 'sessions' };

/**
 * Resolves to the reader if its role covers `needed`; that is given explicitly for requests that the router could not
 * parse. Rejects with Problem: 400, 401, 403, 405, 413, 421, 429, 503.
 */
export type Guard = (request: FastifyRequest, needed?: Role | 'open') => Promise<Reader>;

export function createGuard({ access, hosts }: GuardOptions): Guard {
  return async (request, needed = neededFor(request)) => {
    // The first check, so that the answer is the same for every client and path.
    if (!METHODS.has(request.method)) throw methodNotAllowed();
    checkSize(request);
    // A probe may use any host name, and a refusal would restart the application. Open routes only say that the sidecar
    // runs.
    if (needed === 'open') return EVERYBODY;
    hosts()(request.raw);
    const reader = await identify(request, access());
    checkRole(reader, needed, request);
    return reader;
  };
}

async function identify(
  { headers, raw: { socket } }: FastifyRequest,
  access: AccessControl | AccessClosed | undefined,
) {
  if (access === undefined) return EVERYBODY;
  if (access instanceof AccessClosed) throw createRetryLater(503, access.detail, CLOSED_RETRY_S);
  const { authorization } = headers;
  const certificateName = socket instanceof TLSSocket ? clientCertificateOf(socket)?.user : undefined;
  const verdict = await access.check({ authorization, address: socket.remoteAddress ?? '', certificateName });
  if (verdict.kind === 'known') return verdict.reader;
  if (verdict.kind === 'missing') throw createUnauthorized(access, MISSING);
  if (verdict.retryAfterS > 0) throw createRetryLater(429, OVER_LIMIT, verdict.retryAfterS);
  if (verdict.kind === 'unverified') throw createRetryLater(503, BUSY, BUSY_RETRY_S);
  throw createUnauthorized(access, 'The credential is wrong.');
}

/** A path that does not exist needs any role: a reader may learn that it does not. */
export function neededFor(request: FastifyRequest): Role | 'open' {
  return request.is404 ? 'metrics' : (request.routeOptions.config.access ?? 'sessions');
}

export function methodNotAllowed(): Problem {
  return new Problem(405, 'This port only accepts GET and HEAD.', { fields: { allow: 'GET, HEAD' } });
}

function checkSize({ headers }: FastifyRequest): void {
  const isSmall =
    headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) <= MAX_BODY_BYTES;
  if (isSmall) return;
  const detail = `A request here may have at most ${MAX_BODY_BYTES} bytes of content.`;
  // Closes the connection instead of reading the rest of the body.
  throw new Problem(413, detail, { fields: { connection: 'close' } });
}

function checkRole(reader: Reader, needed: Role, request: FastifyRequest): void {
  if (!covers(reader.role, needed)) {
    throw new Problem(403, `This needs the role ${needed}; yours is ${reader.role}.`);
  }
  // Session ids come from the list of sessions, and lead to the data of one user.
  const asksForSession = Object.hasOwn((request.query ?? {}) as object, 'session');
  if (asksForSession && !covers(reader.role, 'sessions')) {
    throw new Problem(403, `The parameter "session" needs the role sessions; yours is ${reader.role}.`);
  }
}

function createRetryLater(status: number, detail: string, retryAfterS: number): Problem {
  return new Problem(status, detail, { fields: { 'retry-after': String(retryAfterS) } });
}

/** One field for each scheme, since some clients cannot parse two in one. */
function createUnauthorized(access: AccessControl, detail: string): Problem {
  const { hasUsers, hasTokens } = access.schemes;
  // A 401 must name a scheme (RFC 9110 §15.5.2), and there is none for certificates.
  if (!hasUsers && !hasTokens) return new Problem(403, detail);
  const challenges = [
    ...(hasUsers ? [`Basic ${REALM}, charset="UTF-8"`] : []),
    ...(hasTokens ? [`Bearer ${REALM}`] : []),
  ];
  return new Problem(401, detail, { fields: { 'www-authenticate': challenges } });
}

/**
 * Whether a request is meant for this server. With DNS rebinding, another site's page makes its own host name resolve
 * to our address, and then reads our answers. The Host field reveals that name. Such a page cannot use an address,
 * localhost or a name that is not its own.
 */
export type HostCheck = (request: Pick<IncomingMessage, 'url' | 'headersDistinct'>) => void;

/**
 * `names` are case-insensitive and have no ports; e.g. `['d2-sidecar.plant.example']`. An absolute target wins over the
 * Host field (RFC 9112 §3.2.2). A request without either (HTTP/1.0) is accepted: no browser sends it. The check throws
 * Problem: 400, 421.
 */
export function createHostCheck(names: readonly string[]): HostCheck {
  const own = new Set(['localhost', ...names.map(normalizeHost)]);
  return ({ url = '', headersDistinct: { host: hosts = [] } }) => {
    const written = url.startsWith('/') ? hosts[0] : authorityOf(url);
    const host = hostOf(written ?? 'localhost');
    if (hosts.length > 1 || host === undefined) throw new Problem(400, 'The host cannot be read.');
    if (net.isIP(host) !== 0 || own.has(normalizeHost(host))) return;
    const detail = 'This port is not served under that name: use its address, or list the name in monitor.hosts.';
    throw new Problem(421, detail);
  };
}

/** `http://plant:9280/a` to `plant:9280`. Any other form gives an empty string, which is no valid host. */
function authorityOf(target: string): string {
  return /^https?:\/\/([^/?#]*)/i.exec(target)?.[1] ?? '';
}

/** `plant:9280` to `plant`, `[::1]:9280` to `::1`. */
function hostOf(authority: string): string | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::\d*)?$/.exec(authority);
  return match?.[1] ?? match?.[2];
}

/** Ignores letter case and the trailing dot of the DNS root. */
function normalizeHost(host: string): string {
  return host.toLowerCase().replace(/\.$/, '');
}
