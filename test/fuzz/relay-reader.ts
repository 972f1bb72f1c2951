import { BodyReader } from '../../src/http1/body-reader.ts';
import { MALFORMED, MORE } from '../../src/http1/chunked.ts';
import { isOddPrefix, parseRequestHead } from '../../src/http1/request-head.ts';
import { HEAD_END } from '../../src/http1/response-reader.ts';
import type { ParsedRequest } from './reference-parser.ts';

export interface RelayReading {
  /** Requests that the relay takes, read to their last byte. */
  readonly requests: readonly ParsedRequest[];
  /** `gateway`: handed over there. `refused`: a broken body. `last`: the client asked to close. `waiting`: more must come. */
  readonly end: 'gateway' | 'refused' | 'last' | 'waiting';
}

/** Follows a client's bytes with the relay's own parts, without sockets. */
export function readWithRelay(chunks: readonly Buffer[], maxHeadBytes: number): RelayReading {
  const requests: ParsedRequest[] = [];
  const body = new BodyReader(maxHeadBytes);
  let unread: Buffer = Buffer.alloc(0);
  let current: { method: string; target: string; isLast: boolean; isChunked: boolean; raw: string } | undefined;
  for (const chunk of chunks) {
    unread = Buffer.concat([unread, chunk]);
    for (;;) {
      if (current === undefined) {
        const at = unread.indexOf(HEAD_END);
        if (at === -1 && unread.length > 0 && isOddPrefix(unread, 0)) return { requests, end: 'gateway' };
        if (at === -1) break;
        const head = parseRequestHead(unread.toString('latin1', 0, at + HEAD_END.length));
        if (typeof head === 'string') return { requests, end: 'gateway' };
        body.begin(head.framing);
        const { method, target, isLast, framing } = head;
        current = { method, target, isLast, isChunked: framing.kind === 'chunked', raw: '' };
        unread = unread.subarray(at + HEAD_END.length);
      }
      const end = body.read(unread, 0, unread.length);
      if (end === MALFORMED) return { requests, end: 'refused' };
      current.raw += unread.toString('latin1', 0, end === MORE ? unread.length : end);
      unread = end === MORE ? Buffer.alloc(0) : unread.subarray(end);
      if (end === MORE) break;
      const { method, target, isLast, isChunked, raw } = current;
      requests.push({ method, target, body: isChunked ? withoutChunks(raw) : raw });
      current = undefined;
      if (isLast) return { requests, end: 'last' };
    }
  }
  return { requests, end: 'waiting' };
}

/** The content of a chunked body that the relay found whole; written apart from the relay's own reader. */
function withoutChunks(raw: string): string {
  let content = '';
  for (let at = 0; ; ) {
    const lineEnd = raw.indexOf('\r\n', at);
    const size = Number.parseInt(raw.slice(at, lineEnd), 16);
    if (size === 0) return content;
    content += raw.slice(lineEnd + 2, lineEnd + 2 + size);
    at = lineEnd + 2 + size + 2;
  }
}
