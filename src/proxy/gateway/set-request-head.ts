import { type ClientRequest, type IncomingMessage, METHODS } from 'node:http';
import { type ForwardedClient, forwardedFields, twinKey } from '../../protocol/http1/forwarded.ts';
import type { DataPathOptions } from '../exchange/data-path-options.ts';
import { hasField, isChunked, listOf, toGroups, valuesOf } from './raw-fields.ts';

export interface RequestHeadContext {
  readonly options: Pick<DataPathOptions, 'forwarded' | 'replacedFields'>;
  readonly client: ForwardedClient;
  /** Replaces the client's; undefined: unchanged. */
  readonly traceparent: string | undefined;
  /** Host for an HTTP/1.0 request that has none, e.g. `127.0.0.1:8080`. */
  readonly authority: string;
}

/** Node adds these when they are absent, unless they have been removed explicitly. */
const ADDED_BY_NODE = ['connection', 'content-length', 'transfer-encoding'] as const;

/**
 * Characters of a request-target: any other could split the request line (RFC 9112 §3). A fragment is not allowed
 * (§3.2): some servers cut it off, others treat it as part of the path.
 */
const TARGET = /^[\x21\x22\x24-\xff]+$/;

/** `trim` removes more: a no-break space is not whitespace to Node's parser or to others (RFC 9110 §5.6.3). */
const BLANKS_AROUND = /^[ \t]+|[ \t]+$/g;

/** No real body is longer, and not every server can parse a longer number. The relay has the same limit. */
const LENGTH = /^0*\d{1,15}$/;

const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

/**
 * The status with which a request is refused because its fields can be read in more than one way. Undefined for a good
 * request. Node's parser has already refused what is not HTTP at all.
 */
export function toHeadProblem(request: IncomingMessage): 400 | 505 | undefined {
  const raw = request.rawHeaders;
  // Node's parser accepts 0.9 and 2.0.
  if (request.httpVersionMajor !== 1 || request.httpVersionMinor > 1) return 505;
  const hosts = valuesOf(raw, 'host').length;
  const isHttp10 = isVersion10(request);
  // RFC 9112 §3.2: exactly one Host, but HTTP/1.0 does not know it.
  if (hosts > 1 || (hosts === 0 && !isHttp10)) return 400;
  // RFC 9112 §6.1: HTTP/1.0 has no transfer codings, so the framing of such a request is in doubt.
  const hasCoding = hasField(raw, 'transfer-encoding');
  if (isHttp10 && hasCoding) return 400;
  // RFC 9112 §6.3: the end of such a body cannot be found. Node notices only after the head.
  if (hasCoding && !hasPlainCodings(raw)) return 400;
  if (valuesOf(raw, 'content-length').some((length) => !LENGTH.test(length))) return 400;
  // Node's parser accepts RTSP as HTTP, and its methods, which have no other use.
  if (!METHODS.includes(request.method ?? '')) return 400;
  return TARGET.test(request.url ?? '') ? undefined : 400;
}

/** Tokens, of which only the last is `chunked`. Servers disagree about an empty line or member, or a parameter. */
function hasPlainCodings(raw: readonly string[]): boolean {
  const codings = valuesOf(raw, 'transfer-encoding')
    .flatMap((value) => value.split(','))
    .map((coding) => coding.replace(BLANKS_AROUND, '').toLowerCase());
  return codings.every((coding) => TOKEN.test(coding)) && codings.indexOf('chunked') === codings.length - 1;
}

/** What a waiting request costs, besides its body. */
export interface RequestSize {
  /** Size of the head, approximately as on the wire. */
  readonly headBytes: number;
  /** Estimated memory. */
  readonly keptBytes: number;
}

export const NO_SIZE: RequestSize = { headBytes: 0, keptBytes: 0 };

/** Objects of Node and ours for a request and its response; measured with 8,000 waiting requests: 1.9 KB each. */
const OBJECTS_BYTES = 2_560;
/** Each name and each value is a string, in `rawHeaders` and in `headers`; measured with short ones: 76 bytes each. */
const TEXT_BYTES = 72;
/** `: ` and CRLF. */
const LINE_BYTES = 4;

export function toRequestSize({ url = '', rawHeaders }: IncomingMessage): RequestSize {
  let texts = url.length;
  for (const text of rawHeaders) texts += text.length;
  const headBytes = texts + (rawHeaders.length / 2) * LINE_BYTES;
  return { headBytes, keptBytes: OBJECTS_BYTES + texts + rawHeaders.length * TEXT_BYTES };
}

export function isVersion10(request: IncomingMessage): boolean {
  return request.httpVersionMajor === 1 && request.httpVersionMinor === 0;
}

/** Gives `upstream` the head of `request`: the same target byte for byte, the same fields, plus the forwarding ones. */
export function setRequestHead(upstream: ClientRequest, request: IncomingMessage, context: RequestHeadContext): void {
  for (const name of upstream.getHeaderNames()) upstream.removeHeader(name);
  upstream.path = request.url ?? '/';
  const fields = toUpstreamFields(request, context);
  for (const name of ADDED_BY_NODE) {
    if (!fields.has(name)) upstream.removeHeader(name);
  }
  for (const { name, values } of fields.values()) {
    upstream.setHeader(name, values.length === 1 ? (values[0] as string) : values);
  }
}

function toUpstreamFields(request: IncomingMessage, context: RequestHeadContext): ReturnType<typeof toGroups> {
  const raw = request.rawHeaders;
  const fields = toGroups(raw);
  const own = {
    host: fields.get('host')?.values[0],
    hasProto: fields.has('x-forwarded-proto'),
    hasHost: fields.has('x-forwarded-host'),
  };
  const { forwarded, replacedFields } = context.options;
  for (const name of fields.keys()) if (replacedFields.has(twinKey(name))) fields.delete(name);
  const { traceparent } = context;
  if (traceparent !== undefined) fields.set('traceparent', { name: 'traceparent', values: [traceparent] });
  for (const [name, value] of forwardedFields(forwarded, context.client, own)) {
    const group = fields.get(name.toLowerCase());
    if (group === undefined) fields.set(name.toLowerCase(), { name, values: [value] });
    else group.values.push(value);
  }
  // Node refuses to send it without chunks (Node's own rule; RFC 9110 §6.6.2 only makes it useless there).
  if (!isChunked(raw)) fields.delete('trailer');
  if (isVersion10(request)) makeExplicit(fields, raw, context.authority);
  putLengthLast(fields);
  return fields;
}

/** Node always writes HTTP/1.1, so what HTTP/1.0 implies must be explicit (RFC 9112 §9.3, RFC 9110 §10.1.1). */
function makeExplicit(fields: ReturnType<typeof toGroups>, raw: readonly string[], authority: string): void {
  if (!fields.has('host')) fields.set('host', { name: 'Host', values: [authority] });
  if (!listOf(raw, 'connection').includes('keep-alive'))
    fields.set('connection', { name: 'Connection', values: ['close'] });
  fields.delete('expect');
}

/** Node re-encodes Content-Disposition, and so changes its bytes, when Content-Length precedes it. */
function putLengthLast(fields: ReturnType<typeof toGroups>): void {
  const length = fields.get('content-length');
  if (length === undefined || !fields.has('content-disposition')) return;
  fields.delete('content-length');
  fields.set('content-length', length);
}
