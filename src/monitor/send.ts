import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import QuickLRU from 'quick-lru';
import { MS_PER_S } from '../base/clock.ts';
import { Problem } from '../base/problem.ts';
import type { LimitHits } from '../limits/limit-hits.ts';
import type { LoopShare } from './loop-share.ts';

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

const CHUNK_CHARS = 32 * 1024;

/**
 * Streams a long text as UTF-8, in turns of the event loop and only as fast as the client reads. It never holds more
 * than two chunks of about 32 KB. It takes one of `pieces` at a time, so the longest piece bounds the length of a
 * slice. An empty piece only marks a point to pause. The stream ends when the client disconnects.
 */
export class SlicedAnswer extends Readable {
  readonly #pieces: Iterator<string>;
  readonly #share: LoopShare;
  readonly #work = (): void => this.#write();
  #chunk = '';
  #bytes = 0;
  #maxBytes = Number.POSITIVE_INFINITY;
  #createError: (() => Error) | undefined;

  constructor(pieces: Iterable<string>, share: LoopShare) {
    super({ highWaterMark: CHUNK_CHARS });
    this.#pieces = pieces[Symbol.iterator]();
    this.#share = share;
  }

  /** Fails with the error that `createError` returns instead of sending more than `maxBytes`. */
  limit(maxBytes: number, createError: () => Error): void {
    this.#maxBytes = maxBytes;
    this.#createError = createError;
  }

  override _read(): void {
    this.#share.enter(this.#work);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#share.leave(this.#work);
    this.#chunk = '';
    this.#pieces.return?.();
    callback(error);
  }

  /** Writes one chunk, or less if the share is used up. */
  #write(): void {
    try {
      do {
        const { done, value } = this.#pieces.next();
        if (done !== true) this.#chunk += value;
        if (done === true || this.#chunk.length >= CHUNK_CHARS) {
          this.#pushChunk();
          if (done === true) this.push(null);
          return;
        }
      } while (!this.#share.isDue);
      this.#share.enter(this.#work);
    } catch (cause) {
      this.destroy(cause as Error);
    }
  }

  #pushChunk(): void {
    const chunk = Buffer.from(this.#chunk, 'utf8');
    this.#chunk = '';
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBytes) throw this.#createError?.();
    if (chunk.length > 0) this.push(chunk);
  }
}

/** Longer than a scrape interval. */
const REMEMBERED_MS = 60 * MS_PER_S;
/** Distinct targets; more than two are unlikely. */
const MAX_REMEMBERED = 16;

/**
 * Keeps answers of the monitoring port within `monitor.maxAnswerBytes`. The limit may be reached when a part is already
 * sent. The connection is then cut, so that no client mistakes the part for the whole. For the next minute the same
 * request gets 507 with the reason at once.
 */
export class AnswerLimit {
  readonly #hits: LimitHits;
  /** Targets of requests whose answers were too large. */
  readonly #tooLarge = new QuickLRU<string, true>({ maxSize: MAX_REMEMBERED, maxAge: REMEMBERED_MS });
  #maxBytes: number;

  constructor(maxBytes: number, hits: LimitHits) {
    this.#maxBytes = maxBytes;
    this.#hits = hits;
  }

  /** Takes effect for the next answer. A higher limit also admits requests whose answers were too large before. */
  limitTo(maxBytes: number): void {
    if (maxBytes > this.#maxBytes) this.#tooLarge.clear();
    this.#maxBytes = maxBytes;
  }

  /** Called before an answer is generated. Throws Problem: 507. */
  check(target: string): void {
    if (this.#tooLarge.has(target)) throw this.#exceeded();
  }

  /** Limits `payload` if it is a stream; only those can be large. */
  limit(target: string, payload: unknown): void {
    if (!(payload instanceof SlicedAnswer)) return;
    // The error becomes the answer if nothing has been sent yet; otherwise the connection is cut.
    payload.limit(this.#maxBytes, () => {
      this.#tooLarge.set(target, true);
      return this.#exceeded();
    });
  }

  #exceeded(): Problem {
    this.#hits.hit('monitor.maxAnswerBytes');
    const detail =
      `The answer is larger than ${this.#maxBytes} bytes (monitor.maxAnswerBytes). Request a part of it, or lower ` +
      'metrics.maxNames or sessions.max.';
    return new Problem(507, detail);
  }
}
