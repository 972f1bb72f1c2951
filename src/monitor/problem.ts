import type { FastifyReply } from 'fastify';

/** A problem with a request to the monitoring port (RFC 9457); `detail` is for people and may change. */
export interface Problem {
  readonly status: number;
  readonly detail: string;
  /** Further members, e.g. `{ since: '2026-01-31T02:14:07.000Z' }`. */
  readonly members?: Readonly<Record<string, string>>;
  /** A list is sent as one field per element. */
  readonly fields?: Readonly<Record<string, string | string[]>>;
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  413: 'Content Too Large',
  421: 'Misdirected Request',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
  507: 'Insufficient Storage',
};

/** Caches must not store answers: the value that Dropwizard's servlet sends. */
export const NO_CACHE = 'must-revalidate,no-cache,no-store';

export function problemBody(problem: Problem): string {
  const { status, detail, members } = problem;
  return JSON.stringify({ type: 'about:blank', title: titleOf(status), status, detail, ...members });
}

export function titleOf(status: number): string {
  return TITLES[status] ?? 'Error';
}

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  return reply
    .code(problem.status)
    .headers({ 'cache-control': NO_CACHE, ...problem.fields })
    .type('application/problem+json')
    .send(Buffer.from(problemBody(problem)));
}

/** Sends a Buffer: to a string Fastify would add a charset, which `application/json` does not have (RFC 8259 §11). */
export function sendJson(reply: FastifyReply, json: string): FastifyReply {
  return reply.headers({ 'content-type': 'application/json', 'cache-control': NO_CACHE }).send(Buffer.from(json));
}

/** Thrown by handlers; the server's error handler sends it. */
export class ProblemError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.name = 'ProblemError';
    this.problem = problem;
  }
}

export function notFound(detail: string): ProblemError {
  return new ProblemError({ status: 404, detail });
}
