/** The responses on a connection, read leniently: the servers' own framing is not under test. */
import { readChunks } from './strict-reader.ts';

export interface ResponseSeen {
  readonly status: number;
  /** The server's reading of the request, e.g. `POST /m 5:aaf4c61ddcc5`; undefined if the application did not get it. */
  readonly seen: string | undefined;
  readonly isOwn: boolean;
}

export function readResponses(text: string, methods: readonly string[]): readonly ResponseSeen[] {
  const responses: ResponseSeen[] = [];
  for (let at = 0; at < text.length; ) {
    const headEnd = text.indexOf('\r\n\r\n', at);
    const head = text.slice(at, headEnd === -1 ? text.length : headEnd);
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1]);
    if (!(status >= 100) || headEnd === -1)
      throw new Error(`malformed response: ${JSON.stringify(text.slice(at, at + 200))}`);
    at = headEnd + 4;
    if (status < 200) continue;
    const isHead = methods[responses.length] === 'HEAD';
    responses.push({ status, seen: fieldOf(head, 'x-seen'), isOwn: fieldOf(head, 'proxy-status') !== undefined });
    if (!isHead && status !== 204 && status !== 304) at = endOfBody(text, at, head);
    // The sidecar refuses an unreadable method with a body, even if the method was HEAD.
    else if (text[at] === '{' && responses.at(-1)?.isOwn === true) at = endOfBody(text, at, head);
  }
  return responses;
}

function fieldOf(head: string, name: string): string | undefined {
  return new RegExp(`\\r\\n${name}:[ \\t]*([^\\r\\n]*)`, 'i').exec(head)?.[1];
}

function endOfBody(text: string, from: number, head: string): number {
  const length = fieldOf(head, 'content-length');
  if (/\r\ntransfer-encoding:[^\r]*chunked/i.test(head)) {
    const { end } = readChunks(text, from);
    return typeof end === 'number' ? end : text.length;
  }
  return length === undefined ? text.length : Math.min(text.length, from + Number(length));
}
