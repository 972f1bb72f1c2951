/**
 * The sidecar's own answers on the client's port: RFC 9457 problems with RFC 9209 Proxy-Status. An answer never holds
 * an address, the message of a cause, or anything from the request.
 */
import { ERROR_CODES, type ErrorCode } from '../../base/errors.ts';
import { Problem } from '../../base/problem.ts';
import { escapeUnit } from '../../base/shown-text.ts';
import type { Fields } from '../../protocol/http1/certificate-fields.ts';
import { describeTlsFault } from '../../tls/tls-fault.ts';
import { DENIED, type Ending } from './exchange.ts';
import { tlsReasonOf, UpstreamFailure } from './upstream-failure.ts';

const REQUEST_PROBLEMS = {
  400: 'The request cannot be read.',
  408: 'The request’s head did not arrive in time.',
  413: 'The request’s chunk extensions or trailers are too large.',
  431: 'The request’s head is larger than limits.headBytes, or has more fields than limits.fields.',
  501: 'The request’s method is not served here.',
  503: 'Too many requests wait, or limits.memoryBytes has no room for this one.',
  505: 'Only HTTP/1.1 and HTTP/1.0 are served here.',
} as const;

type RequestProblemStatus = keyof typeof REQUEST_PROBLEMS;

/** For a request that was not forwarded: most calls are shorter, so a slot will be free by then. */
const RETRY_AFTER_S = 1;

/** A request that the sidecar answers itself: the ending of its exchange, and the answer. */
export interface Refusal {
  readonly ending: Ending;
  readonly problem: Problem;
}

/** For `limits.inFlight`. */
export function busyRefusal(): Refusal {
  const failure = new UpstreamFailure('D2S_ERR_UPSTREAM_BUSY');
  return { ending: { kind: 'failed', failure }, problem: upstreamProblem(failure) };
}

/** For `rest.deny`: the client is on another machine. */
export function deniedRefusal(): Refusal {
  return { ending: DENIED, problem: createCodedProblem(403, 'http_request_denied', 'D2S_ERR_DENIED') };
}

export function upstreamProblem({ status, proxyError, code, isOwnShortage, cause }: UpstreamFailure): Problem {
  const fields = isOwnShortage ? { 'Retry-After': String(RETRY_AFTER_S) } : {};
  if (code !== 'D2S_ERR_UPSTREAM_TLS') return createCodedProblem(status, proxyError, code, fields);
  // Never repeats what the server's certificate says.
  const detail = `TLS with the upstream cannot be set up: ${describeTlsFault(tlsReasonOf(cause)).text}.`;
  return createCodedProblem(status, proxyError, code, fields, detail);
}

/** The answer to a request that is refused. It is always the last on its connection. */
export function encodeRefusal(status: RequestProblemStatus, isHead = false): Buffer {
  // RFC 9209 §2.3: our own limit, or the request's fault.
  const error = status === 503 ? 'http_request_denied' : 'http_request_error';
  const parts = { members: { error }, fields: formatProxyStatus(error) };
  return encodeProblem(new Problem(status, REQUEST_PROBLEMS[status], parts), { isHead, isLast: true });
}

function createCodedProblem(
  status: number,
  error: string,
  code: ErrorCode,
  fields: Record<string, string> = {},
  detail: string = ERROR_CODES[code],
): Problem {
  const members = { error, code };
  return new Problem(status, detail, { members, fields: { ...formatProxyStatus(error), ...fields } });
}

function formatProxyStatus(error: string): Record<string, string> {
  return { 'Proxy-Status': `d2-sidecar; error=${error}` };
}

/** `isLast`: the connection ends after this answer, which then says so. */
export function encodeProblem(problem: Problem, { isHead, isLast }: { isHead: boolean; isLast: boolean }): Buffer {
  // Without characters above ASCII, so that characters, bytes and latin1 are the same.
  const body = problem.body.replace(/[^\0-\x7f]/g, escapeUnit);
  const fields: Fields = [
    ['Content-Type', 'application/problem+json'],
    ['Content-Length', String(body.length)],
    ['Cache-Control', 'no-store'],
    ...Object.entries(problem.fields).map(([name, value]) => [name, String(value)] as const),
    ...(isLast ? [['Connection', 'close'] as const] : []),
  ];
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const head = `HTTP/1.1 ${problem.status} ${problem.title}\r\n${lines}\r\n`;
  return Buffer.from(isHead ? head : head + body, 'latin1');
}
