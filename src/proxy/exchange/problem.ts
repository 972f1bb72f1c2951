/**
 * The sidecar's own answers on the client's port: RFC 9457 problems with RFC 9209 Proxy-Status. An answer never holds
 * an address, the message of a cause, or anything from the request.
 */
import { ERROR_CODES } from '../../base/errors.ts';
import type { UpstreamFailure } from './upstream-failure.ts';

/** A complete answer except for the start line and the Connection field. */
export interface Problem {
  readonly status: number;
  readonly title: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** JSON, ASCII only. */
  readonly body: string;
}

/** Requests that are refused without asking the upstream. */
const REQUEST_PROBLEMS = {
  400: { title: 'Bad Request', detail: 'The request cannot be read.' },
  408: { title: 'Request Timeout', detail: 'The request’s head did not come in time.' },
  413: { title: 'Content Too Large', detail: 'The request’s chunk extensions are too large.' },
  431: {
    title: 'Request Header Fields Too Large',
    detail: 'The request’s head is larger than limits.headBytes, or has more fields than limits.fields.',
  },
  501: { title: 'Not Implemented', detail: 'The request’s method is not served here.' },
  505: { title: 'HTTP Version Not Supported', detail: 'Only HTTP/1.1 and HTTP/1.0 are served here.' },
  503: {
    title: 'Service Unavailable',
    detail: 'Too many requests wait, or limits.memoryBytes has no room for this one.',
  },
} as const;

export type RequestProblemStatus = keyof typeof REQUEST_PROBLEMS;

const UPSTREAM_TITLES = { 502: 'Bad Gateway', 503: 'Service Unavailable', 504: 'Gateway Timeout' } as const;

/** For a request that was not passed on: most calls take less, so a place will be free by then. */
const RETRY_AFTER_S = 1;

/**
 * The answer when the upstream gave none, e.g. status 502 with the body
 * `{"type":"about:blank","title":"Bad Gateway","status":502,"detail":"…","error":"connection_refused","code":"D2S_ERR_UPSTREAM_REFUSED"}`.
 */
export function upstreamProblem(failure: UpstreamFailure): Problem {
  const { status, proxyError: error, code } = failure;
  const problem = toProblem(status, UPSTREAM_TITLES[status], error, { detail: ERROR_CODES[code], error, code });
  return status === 503 ? { ...problem, fields: [...problem.fields, ['Retry-After', String(RETRY_AFTER_S)]] } : problem;
}

/** The answer to a client on another machine that asks for a path of `rest.deny`. */
export function deniedProblem(): Problem {
  const code = 'D2S_ERR_DENIED';
  const error = 'http_request_denied';
  return toProblem(403, 'Forbidden', error, { detail: ERROR_CODES[code], error, code });
}

/** The answer to a refused request. It is always the last on its connection. */
export function requestProblem(status: RequestProblemStatus): Problem {
  const { title, detail } = REQUEST_PROBLEMS[status];
  // RFC 9209 §2.3: our own limit, or the request's fault.
  const error = status === 503 ? 'http_request_denied' : 'http_request_error';
  return toProblem(status, title, error, { detail, error });
}

export interface RawResponseOptions {
  /** The request was HEAD: no body is sent. */
  readonly isHead: boolean;
  /** The connection ends after this answer, which then says so. */
  readonly isLast: boolean;
}

/** The whole HTTP/1.1 response as bytes. */
export function toRawResponse(problem: Problem, { isHead, isLast }: RawResponseOptions): Buffer {
  const lines = problem.fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const connection = isLast ? 'Connection: close\r\n' : '';
  const head = `HTTP/1.1 ${problem.status} ${problem.title}\r\n${lines}${connection}\r\n`;
  return Buffer.from(isHead ? head : head + problem.body, 'latin1');
}

function toProblem(
  status: number,
  title: string,
  error: string,
  members: { readonly detail: string; readonly error: string; readonly code?: string },
): Problem {
  const body = toAscii(JSON.stringify({ type: 'about:blank', title, status, ...members }));
  return {
    status,
    title,
    fields: [
      ['Content-Type', 'application/problem+json'],
      ['Content-Length', String(body.length)],
      ['Cache-Control', 'no-store'],
      ['Proxy-Status', `d2-sidecar; error=${error}`],
    ],
    body,
  };
}

/** Escapes non-ASCII characters, so that characters, bytes and latin1 are the same. */
function toAscii(json: string): string {
  return json.replace(/[^\0-\x7f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
