/** What the relay does not pass on unchanged: inserted header lines, and its own answers. */

import { type ForwardedClient, forwardedLines, withoutFields } from '../../protocol/http1/forwarded.ts';
import { withEditedLines } from '../../protocol/http1/head-lines.ts';
import type { Http1RequestHead } from '../../protocol/http1/request-head.ts';
import { MAX_TEXT_BYTES } from '../../protocol/http1/text.ts';
import { encodeProblem, type RequestProblemStatus, requestProblem } from '../exchange/problem.ts';
import type { TrafficOptions } from '../exchange/traffic-options.ts';

const EMPTY_LINE_BYTES = 2;
const CLOSE_LINE = 'Connection: close\r\n';

/**
 * Inserts the fields about the client before the empty line of a request's head, and removes those that only the
 * sidecar may write. `bytes` are the head and the body so far; they stay in one piece, since one write costs less than
 * two. `text` is the latin1 text of `bytes`, of their beginning, or of more than `bytes`.
 */
export function withOwnFields(
  { forwarded, replacedFields }: TrafficOptions,
  head: Http1RequestHead,
  client: ForwardedClient,
  bytes: Buffer,
  text: string,
  traceparent?: string,
): Buffer | string {
  if (replacedFields.size > 0 || traceparent !== undefined) {
    const traced = traceparent === undefined ? head.text : withTraceparent(head.text, traceparent);
    const kept = withoutFields(traced, replacedFields).slice(0, -EMPTY_LINE_BYTES);
    const edited = `${kept}${forwardedLines(forwarded, client, head)}\r\n`;
    return Buffer.concat([Buffer.from(edited, 'latin1'), bytes.subarray(head.text.length)]);
  }
  if (forwarded === 'off') return bytes;
  const lines = forwardedLines(forwarded, client, head);
  const headEnd = head.text.length;
  if (bytes.length > Math.min(text.length, MAX_TEXT_BYTES)) return withLines(bytes, headEnd, bytes.length, lines);
  return `${text.slice(0, headEnd - EMPTY_LINE_BYTES)}${lines}${text.slice(headEnd - EMPTY_LINE_BYTES, bytes.length)}`;
}

export function formatHandshakeHead(
  options: TrafficOptions,
  head: Http1RequestHead,
  client: ForwardedClient,
  traceparent: string | undefined,
): string {
  const sent = withOwnFields(options, head, client, Buffer.from(head.text, 'latin1'), head.text, traceparent);
  return typeof sent === 'string' ? sent : sent.toString('latin1');
}

/** Replaces the client's own field, or adds one at the end. */
function withTraceparent(headText: string, traceparent: string): string {
  const line = `traceparent: ${traceparent}\r\n`;
  let isPlaced = false;
  const edited = withEditedLines(headText, (name, own) => {
    if (name !== 'traceparent') return own;
    const replacement = isPlaced ? '' : line;
    isPlaced = true;
    return replacement;
  });
  return isPlaced ? edited : `${headText.slice(0, -EMPTY_LINE_BYTES)}${line}\r\n`;
}

/** Adds `Connection: close` to a response (RFC 9112 §9.6). */
export function withDrainNotice(bytes: Buffer, headEnd: number, end: number): Buffer {
  return withLines(bytes, headEnd, end, CLOSE_LINE);
}

/** The answer to a request that is refused: the last on its connection. */
export function encodeRefusal(status: RequestProblemStatus, isHead = false): Buffer {
  return encodeProblem(requestProblem(status), { isHead, isLast: true });
}

/** Copies `bytes` up to `end`, with latin1 `lines` inserted before the empty line that ends at `headEnd`. */
function withLines(bytes: Buffer, headEnd: number, end: number, lines: string): Buffer {
  const at = headEnd - EMPTY_LINE_BYTES;
  const copy = Buffer.allocUnsafe(end + lines.length);
  bytes.copy(copy, 0, 0, at);
  copy.write(lines, at, 'latin1');
  bytes.copy(copy, at + lines.length, at, end);
  return copy;
}
