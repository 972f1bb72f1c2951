import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Problem } from '../base/problem.ts';
import type { LoopShare } from './loop-share.ts';
import { SlicedAnswer } from './sliced-answer.ts';

/** Caches must not store answers: the value that Dropwizard's servlet sends. */
export const NO_CACHE = 'must-revalidate,no-cache,no-store';

/** Security fields of every answer on the monitoring port, including answers to unreadable requests. */
export const SECURITY_FIELDS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  // An answer is data: a browser that shows it as a page must not run or load anything.
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  // URLs may contain session ids.
  'referrer-policy': 'no-referrer',
  // Other origins cannot embed or read it; without CORS they cannot fetch it either.
  'cross-origin-resource-policy': 'same-origin',
};

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  return reply
    .removeHeader('content-encoding')
    .code(problem.status)
    .headers({ 'cache-control': NO_CACHE, ...problem.fields })
    .type('application/problem+json')
    .send(Buffer.from(problem.body));
}

/** Sends a Buffer: to a string Fastify would add a charset, which `application/json` does not have (RFC 8259 §11). */
export function sendJson(reply: FastifyReply, json: string): FastifyReply {
  return reply.headers({ 'content-type': 'application/json', 'cache-control': NO_CACHE }).send(Buffer.from(json));
}

/** Sends a long answer while it is generated. */
export function sendPieces(
  { method }: FastifyRequest,
  reply: FastifyReply,
  pieces: Iterable<string>,
  share: LoopShare,
  mediaType = 'application/json',
): FastifyReply {
  reply.headers({ 'content-type': mediaType, 'cache-control': NO_CACHE });
  // HEAD gets no content. An empty stream avoids generating it, and also a Content-Length of 0.
  return reply.send(new SlicedAnswer(method === 'HEAD' ? [] : pieces, share));
}

/** `true` in any letter case, as in Dropwizard's servlet. */
export function isPretty({ query }: FastifyRequest): boolean {
  const { pretty } = query as Readonly<Record<string, unknown>>;
  return typeof pretty === 'string' && pretty.toLowerCase() === 'true';
}
