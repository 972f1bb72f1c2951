/**
 * HTTP/1.1 and 1.0 on the wire: reads heads, fields and framing out of bytes. This folder knows neither sockets nor a
 * clock, and nothing of the relay, the gateway or sessions. See request-reader.ts and response-reader.ts for a
 * connection's messages in order.
 */
import http from 'node:http';
import { CR, LF, TARGET, TOKEN } from './characters.ts';
import { ABSENT, type FieldSummary, fieldValue, fieldValues, readFields, UNCLEAR } from './field-summary.ts';
import { CHUNKED, type Framing, lengthFraming, NO_BODY } from './framing.ts';
import { detached } from './text.ts';

/** The relay serves neither: CONNECT asks for a tunnel, and PRI is HTTP/2's preface. */
const NO_METHODS: ReadonlySet<string> = new Set(['CONNECT', 'PRI']);
const METHODS: ReadonlySet<string> = new Set(http.METHODS.filter((method) => !NO_METHODS.has(method)));
/** Any other token may also be a method (RFC 9110 §9.1). Only the upstream knows. */
const METHOD = /^[\w!#$%&'*+.^`|~-]{1,64}$/;

const VERSION = ' HTTP/1.1\r\n';
const OLD_VERSION = ' HTTP/1.0\r\n';

/** Why the relay cannot serve a request: the gateway serves or refuses it. */
export type Irregularity = (typeof IRREGULARITIES)[number];

export const IRREGULARITIES = [
  /** CONNECT, no method, neither HTTP/1.1 nor 1.0, or a target in neither origin form nor `OPTIONS *`. */
  'start-line',
  /** A line that is not a well-formed field. */
  'fields',
  /** No Host in HTTP/1.1, or several. */
  'host',
  /**
   * An invalid Content-Length, one together with Transfer-Encoding, a transfer coding other than a single chunked, or
   * any transfer coding in HTTP/1.0.
   */
  'framing',
  /** A WebSocket. `RequestReader` removes other upgrades. */
  'upgrade',
  /** A bare CR or LF, a NUL, or a first byte that cannot begin a method, e.g. of a TLS handshake on the plain port. */
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
  /** HTTP/1.0. */
  readonly isOld: boolean;
  readonly #fields: FieldSummary;

  constructor(text: string, method: string, target: string, framing: Framing, fields: FieldSummary, isOld: boolean) {
    this.text = text;
    this.method = method;
    this.target = target;
    this.framing = framing;
    this.isOld = isOld;
    this.#fields = fields;
  }

  /** The client wants the connection to end after the response: the default of HTTP/1.0 (RFC 9112 §9.3). */
  get isLast(): boolean {
    const { connectionClose, connectionKeepAlive } = this.#fields;
    return connectionClose || (this.isOld && !connectionKeepAlive);
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

  /** Value of Host; undefined without one (HTTP/1.0). */
  get host(): string | undefined {
    const { hostCount, hostStart, hostEnd } = this.#fields;
    return hostCount === 0 ? undefined : this.text.slice(hostStart, hostEnd);
  }

  field(name: string): string | undefined {
    return fieldValue(this.text, this.#fields.lineStarts, name);
  }

  fields(name: string): readonly string[] {
    return fieldValues(this.text, this.#fields.lineStarts, name);
  }
}

/**
 * Reads one whole request head of HTTP/1.1 or 1.0 (latin1 text up to and including its empty line), e.g.
 * `GET /a HTTP/1.1\r\nHost: b\r\n\r\n`. Accepts only what is unambiguous by RFC 9112 §2 to §6 and what Node's strict
 * parser accepts too. Otherwise it returns the irregularity. `bytes` begin with those of `text`.
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
  const isOld = !text.startsWith(VERSION, at);
  if (isOld && !text.startsWith(OLD_VERSION, at)) return 'start-line';
  const isOriginForm = bytes[targetStart] === 0x2f;
  if (!isOriginForm && !(method === 'OPTIONS' && at === targetStart + 1 && text[targetStart] === '*'))
    return 'start-line';

  const fields = readFields(bytes, at + VERSION.length, text.length);
  if (fields.end === UNCLEAR) return 'fields';
  // Only HTTP/1.0 requests may lack Host (RFC 9112 §3.2).
  if (fields.hostCount > 1 || (fields.hostCount === 0 && !isOld)) return 'host';
  if (fields.hasUpgrade) return 'upgrade';
  const framing = toRequestFraming(fields);
  // HTTP/1.0 has no transfer codings: servers differ in how they treat one (RFC 9112 §6.1).
  if (framing === undefined || (isOld && fields.hasTransferEncoding)) return 'framing';
  return new Http1RequestHead(text, method, text.slice(targetStart, at), framing, fields, isOld);
}

/** The method before the first space; undefined if the relay does not serve it. */
function methodOf(text: string): string | undefined {
  const method = text.slice(0, text.indexOf(' '));
  if (METHODS.has(method)) return method;
  // A connection keeps the method: a slice would keep the head.
  return METHOD.test(method) && !NO_METHODS.has(method) ? detached(method) : undefined;
}

function toRequestFraming(fields: FieldSummary): Framing | undefined {
  if (fields.hasTransferEncoding) return fields.isChunked && fields.contentLength === ABSENT ? CHUNKED : undefined;
  if (fields.contentLength === UNCLEAR) return undefined;
  return fields.contentLength === ABSENT ? NO_BODY : lengthFraming(fields.contentLength);
}

/**
 * Whether bytes, still without an empty line, can never become a regular head: the first byte cannot begin a method, or
 * there is a bare CR or LF. Without this check, `GET / HTTP/1.1\n\n` would wait until the time limit.
 */
export function isOddPrefix(bytes: Buffer, from = 0): boolean {
  const first = bytes[0];
  if (first !== undefined && TOKEN[first] !== 1) return true;
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === LF && bytes[at - 1] !== CR) return true;
    if (byte === 0 || (at > 0 && bytes[at - 1] === CR && byte !== LF)) return true;
  }
  return false;
}

/**
 * Whether bytes begin with a request line that Node's parser accepts as HTTP, although it is not: `OPTIONS / RTSP/1.0`.
 */
export function isOtherProtocol(bytes: Buffer): boolean {
  const end = bytes.indexOf(LF);
  return OTHER_PROTOCOL.test(bytes.toString('latin1', 0, end === -1 ? bytes.length : end));
}

const OTHER_PROTOCOL = / (?:RTSP|ICE)\/[0-9.]*\r?$/;
