import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import {
  ATTACKER_COOKIE,
  ATTACKER_CREDENTIAL,
  COMET_PATH,
  HOLD_PATH,
  HOLD_QUERY,
  HONEST_CREDENTIAL,
  LARGE_BYTES,
  LARGE_PATH,
  RPC_PATH,
  UNREAD_PATH,
} from '../plant.ts';
import type { Bayeux } from './bayeux.ts';

const LARGE = Buffer.alloc(LARGE_BYTES, 'x');
/** A larger refused upload is not read: the connection ends after the answer, as with Tomcat. */
const SWALLOWED_BYTES = 64 * 1024;
/** Larger Comet bodies are read and accepted, but not parsed: that is the sidecar's problem. */
const PARSED_BYTES = 16 * 1024;

export function createSite(bayeux: Bayeux): RequestListener {
  return (request, response) => {
    // The client may leave at any time.
    request.on('error', () => {});
    response.on('error', () => {});
    const [path = '', query = ''] = toPath(request.url ?? '').split('?');
    if (path === HOLD_PATH) return void request.resume();
    if (!isKnown(request)) return refuse(request, response);
    if (path === UNREAD_PATH) return;
    if (path === COMET_PATH) return answerComet({ request, response, query, bayeux });
    const answer = path === LARGE_PATH ? LARGE : path === RPC_PATH ? '{"value":1}' : undefined;
    request.resume().on('end', () => {
      response.writeHead(answer === undefined ? 404 : 200, { 'Content-Type': 'application/json' });
      response.end(answer);
    });
  };
}

/** The path, also from the absolute form (RFC 9112 section 3.2.2). */
function toPath(target: string): string {
  return target.replace(/^http:\/\/[^/]*/, '');
}

export function isKnown({ headers }: IncomingMessage): boolean {
  const { authorization, cookie } = headers;
  return authorization === HONEST_CREDENTIAL || authorization === ATTACKER_CREDENTIAL || cookie === ATTACKER_COOKIE;
}

function refuse(request: IncomingMessage, response: ServerResponse): void {
  const isRead = Number(request.headers['content-length'] ?? 0) <= SWALLOWED_BYTES;
  response.writeHead(401, {
    'WWW-Authenticate': 'Basic realm="plant"',
    'Content-Length': 0,
    ...(isRead ? {} : { Connection: 'close' }),
  });
  response.end();
  if (isRead) request.resume();
}

interface CometRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: string;
  readonly bayeux: Bayeux;
}

function answerComet({ request, response, query, bayeux }: CometRequest): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= PARSED_BYTES) chunks.push(chunk);
  });
  request.on('end', () => {
    if (query === HOLD_QUERY) return;
    const text = bytes > PARSED_BYTES ? '[]' : Buffer.concat(chunks).toString('utf8');
    const { messages, delayMs } = bayeux.answer(text, isKnown(request));
    setTimeout(() => {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(messages()));
    }, delayMs);
  });
}
