/** An upstream that answers a handshake instead of upgrading: its answer goes to the client, as its last. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { fieldsByName, formatHead, membersOf, toLines } from './fields.ts';

export interface RefusalListener {
  readonly onBytes: (bytes: Buffer) => void;
  /** The whole answer has been read; `end` are the last bytes for the client. */
  readonly onEnd: (end: string) => void;
}

/** Statuses without a body, whatever the fields say (RFC 9110 §6.4.1). */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);

/** Passes the answer on, its head and its first bytes in one write. Returns whether only the connection's end ends it. */
export function passRefusal(response: IncomingMessage, client: Socket, listener: RefusalListener): boolean {
  const { text, isChunked, isUntilClose } = formatRefusalHead(response);
  // http-proxy's own listener would write a chunked body without its framing (its PR #1439).
  client.cork();
  setImmediate(() => client.uncork());
  client.write(text, 'latin1');
  const resume = () => response.resume();
  client.on('drain', resume);
  response.on('data', (bytes: Buffer) => {
    if (!client.write(isChunked ? encodeChunk(bytes) : bytes)) response.pause();
    listener.onBytes(bytes);
  });
  response.on('end', () => {
    client.off('drain', resume);
    if (response.complete) listener.onEnd(isChunked ? `0\r\n${toLines(response.rawTrailers)}\r\n` : '');
  });
  return isUntilClose;
}

function formatRefusalHead(response: IncomingMessage) {
  const fields = fieldsByName(response.rawHeaders);
  const hasBody = !BODILESS.has(response.statusCode ?? 0);
  const isChunked = hasBody && membersOf(fields.get('transfer-encoding')).at(-1) === 'chunked';
  const isUntilClose = hasBody && !isChunked && (fields.has('transfer-encoding') || !fields.has('content-length'));
  const removed = new Set(['connection', 'keep-alive', ...(isChunked ? [] : ['trailer'])]);
  if (!hasBody) removed.add('transfer-encoding');
  const kept = response.rawHeaders.filter((_, i, flat) => !removed.has((flat[i - (i % 2)] as string).toLowerCase()));
  const options = membersOf(fields.get('connection')).filter((option) => option !== 'close' && option !== 'keep-alive');
  const text = formatHead(response, [...kept, 'Connection', ['close', ...options].join(', ')]);
  return { text, isChunked, isUntilClose };
}

function encodeChunk(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`, 'latin1'), bytes, CRLF]);
}

const CRLF = Buffer.from('\r\n', 'latin1');
