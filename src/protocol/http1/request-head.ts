/**
 * HTTP/1.1 on the wire: reads heads, fields and framing out of bytes. This folder knows neither sockets nor a clock,
 * and nothing of the relay, the gateway or sessions. See request-reader.ts and response-reader.ts for a connection's
 * messages in order.
 */
import http from 'node:http';
import { CR, LF, TARGET } from './characters.ts';
import { ABSENT, type FieldSummary, fieldValue, fieldValues, readFields, UNCLEAR } from './field-summary.ts';
import { CHUNKED, type Framing, lengthFraming, NO_BODY } from './framing.ts';

/**
 * Methods that Node's parser knows. It answers an unknown one with 400, so the relay leaves that to it. CONNECT asks
 * for a tunnel, and PRI is HTTP/2's preface.
 */
const METHODS: ReadonlySet<string> = new Set(http.METHODS.filter((method) => method !== 'CONNECT' && method !== 'PRI'));

const VERSION = ' HTTP/1.1\r\n';

/** Why the relay does not take a head: the gateway serves or rejects it. */
export type Irregularity = (typeof IRREGULARITIES)[number];

export const IRREGULARITIES = [
  /** A method unknown to Node's parser, CONNECT, no HTTP/1.1, or a target in neither origin form nor `OPTIONS *`. */
  'start-line',
  /** A line that is no well-formed field. */
  'fields',
  /** No Host, or several. */
  'host',
  /** No clear Content-Length, one beside a Transfer-Encoding, or a transfer coding that is not just chunked. */
  'framing',
  /** A WebSocket. `RequestReader` removes other upgrades. */
  'upgrade',
  /** A bare CR or LF, a NUL, or a first byte that begins no method, e.g. of a TLS handshake on the plain port. */
  'line-breaks',
  /** Larger than `limits.headBytes`. The gateway answers 431. */
  'too-large',
] as const;

/** A request head with unambiguous framing. Strings are latin1 and share the memory of the head's text. */
export class Http1RequestHead {
  readonly text: string;
  readonly method: string;
  readonly target: string;
  readonly framing: Framing;
  readonly #fields: FieldSummary;

  constructor(text: string, method: string, target: string, framing: Framing, fields: FieldSummary) {
    this.text = text;
    this.method = method;
    this.target = target;
    this.framing = framing;
    this.#fields = fields;
  }

  /** The client asks to close the connection after the response. */
  get isLast(): boolean {
    return this.#fields.connectionClose;
  }

  get fieldCount(): number {
    return this.#fields.lineStarts.length;
  }

  get hasForwardedProto(): boolean {
    return this.#fields.hasForwardedProto;
  }

  get hasForwardedHost(): boolean {
    return this.#fields.hasForwardedHost;
  }

  get host(): string {
    return this.text.slice(this.#fields.hostStart, this.#fields.hostEnd);
  }

  field(name: string): string | undefined {
    return fieldValue(this.text, this.#fields.lineStarts, name);
  }

  fields(name: string): readonly string[] {
    return fieldValues(this.text, this.#fields.lineStarts, name);
  }
}

/**
 * Reads one whole request head (latin1 text up to and including its empty line), e.g.
 * `GET /a HTTP/1.1\r\nHost: b\r\n\r\n`. Accepts only what is unambiguous by RFC 9112 §2 to §6 and what Node's strict
 * parser accepts too. For everything else it returns what is irregular. `bytes` begin with those of `text`.
 */
export function parseRequestHead(
  text: string,
  bytes: Uint8Array = Buffer.from(text, 'latin1'),
): Http1RequestHead | Irregularity {
  const method = methodOf(text);
  if (method === undefined) return 'start-line';

  const targetStart = method.length + 1;
  let at = targetStart;
  while (TARGET[bytes[at] as number] === 1) at += 1;
  if (!text.startsWith(VERSION, at)) return 'start-line';
  const isOriginForm = bytes[targetStart] === 0x2f;
  if (!isOriginForm && !(method === 'OPTIONS' && at === targetStart + 1 && text[targetStart] === '*'))
    return 'start-line';

  const fields = readFields(bytes, at + VERSION.length, text.length);
  if (fields.end === UNCLEAR) return 'fields';
  if (fields.hostCount !== 1) return 'host';
  if (fields.hasUpgrade) return 'upgrade';
  const framing = toRequestFraming(fields);
  if (framing === undefined) return 'framing';
  return new Http1RequestHead(text, method, text.slice(targetStart, at), framing, fields);
}

/** The method before the first space; undefined for an unknown one. */
function methodOf(text: string): string | undefined {
  const method = text.slice(0, text.indexOf(' '));
  return METHODS.has(method) ? method : undefined;
}

function toRequestFraming(fields: FieldSummary): Framing | undefined {
  if (fields.hasTransferEncoding) return fields.isChunked && fields.contentLength === ABSENT ? CHUNKED : undefined;
  if (fields.contentLength === UNCLEAR) return undefined;
  return fields.contentLength === ABSENT ? NO_BODY : lengthFraming(fields.contentLength);
}

/**
 * Whether bytes without an empty line so far can never become a regular head: the first byte begins no method, or there
 * is a bare CR or LF. Without this check, `GET / HTTP/1.1\n\n` would wait until the time limit.
 */
export function isOddPrefix(bytes: Buffer, from = 0): boolean {
  const first = bytes[0];
  if (first !== undefined && (first < 0x41 || first > 0x5a)) return true;
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === LF && bytes[at - 1] !== CR) return true;
    if (byte === 0 || (at > 0 && bytes[at - 1] === CR && byte !== LF)) return true;
  }
  return false;
}

/** Whether bytes begin with a request line that Node's parser takes for HTTP but is not: `OPTIONS / RTSP/1.0`. */
export function isOtherProtocol(bytes: Buffer): boolean {
  const end = bytes.indexOf(LF);
  return OTHER_PROTOCOL.test(bytes.toString('latin1', 0, end === -1 ? bytes.length : end));
}

const OTHER_PROTOCOL = / (?:RTSP|ICE)\/[0-9.]*\r?$/;
