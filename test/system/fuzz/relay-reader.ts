import { RequestReader } from '../../../src/protocol/http1/request-reader.ts';
import { contentOfChunks, type StrictRequest } from '../../support/smuggling/strict-reader.ts';

type ReadRequest = Pick<StrictRequest, 'method' | 'target' | 'body'>;

export interface RelayReading {
  /** Requests that the relay accepts, read to their last byte. */
  readonly requests: readonly ReadRequest[];
  /** `gateway`: handed over there. `refused`: a broken body. `last`: the client asked to close. `waiting`: incomplete. */
  readonly end: 'gateway' | 'refused' | 'last' | 'waiting';
}

/** Reads a client's bytes with the relay's own reader, without sockets. */
export function readWithRelay(chunks: readonly Buffer[], maxHeadBytes: number): RelayReading {
  const requests: ReadRequest[] = [];
  const reader = new RequestReader(maxHeadBytes);
  let current: { method: string; target: string; isLast: boolean; isChunked: boolean; raw: string } | undefined;
  const take = (bytes: Buffer, headBytes: number): boolean => {
    if (current === undefined) return false;
    current.raw += bytes.toString('latin1', headBytes);
    if (!reader.isDone) return false;
    const { method, target, isLast, isChunked, raw } = current;
    requests.push({ method, target, body: isChunked ? contentOfChunks(raw) : raw });
    current = undefined;
    return isLast;
  };
  for (const chunk of chunks) {
    if (reader.isDone) {
      reader.append(chunk);
    } else {
      const bytes = reader.continue(chunk);
      if (bytes === undefined) return { requests, end: 'refused' };
      if (take(bytes, 0)) return { requests, end: 'last' };
    }
    while (reader.isDone && reader.unread.length > 0) {
      const head = reader.nextHead();
      if (head === undefined) break;
      if (typeof head === 'string') return { requests, end: 'gateway' };
      const { method, target, isLast, framing, text } = head;
      current = { method, target, isLast, isChunked: framing.kind === 'chunked', raw: '' };
      const bytes = reader.begin(head);
      if (bytes === undefined) return { requests, end: 'refused' };
      if (take(bytes, text.length)) return { requests, end: 'last' };
    }
  }
  return { requests, end: 'waiting' };
}
