/**
 * This folder reads HTTP/1.1 and 1.0 out of bytes, and edits heads: no sockets, no clock, no decisions about a request
 * but whether it can be read.
 */
import { ABSENT, CR, type FieldSummary, HeadText, LF, readFields, TARGET, TOKEN, UNCLEAR } from './field-summary.ts';
import { CHUNKED, type Framing, lengthFraming, NO_BODY } from './framing.ts';
import { detached } from './text.ts';

/** Any token may be a method (RFC 9110 §9.1): only the upstream knows. */
const METHOD = /^[\w!#$%&'*+.^`|~-]{1,64}$/;
const CONNECT = 'CONNECT';
/** The method in HTTP/2's preface. */
const PREFACE = 'PRI';

const VERSION = ' HTTP/1.1\r\n';
const OLD_VERSION = ' HTTP/1.0\r\n';
const ANY_VERSION = /^ HTTP\/\d\.\d\r\n/;
const SLASH = 0x2f;
const ASTERISK = 0x2a;
/** As `FieldSummary.isHostValid`, but not empty. */
const AUTHORITY = String.raw`(?:\[[\w.:~!$&'()*+,;=%-]+\]|[\w.~!$&'()*+,;=%-]+)(?::\d*)?`;
const ABSOLUTE_FORM = new RegExp(`^[a-z][a-z0-9+.-]*://(?:[^/?@]*@)?(${AUTHORITY})(?=[/?]|$)`, 'i');

export type RequestFault = keyof typeof REQUEST_FAULTS;

/** What can be wrong with a request, and the status that answers it. */
export const REQUEST_FAULTS = {
  /** No method, no target, or no version. */
  'start-line': 400,
  method: 501,
  /** Neither HTTP/1.1 nor 1.0. */
  version: 505,
  /** A line that is not a well-formed field. */
  fields: 400,
  /** No Host in HTTP/1.1, several, or one that is no host. */
  host: 400,
  /** Content-Length invalid or beside Transfer-Encoding, codings but plain ones with `chunked` last, any in 1.0. */
  framing: 400,
  /** A bare CR or LF, a NUL, or a first byte that cannot begin a method, e.g. of a TLS handshake on the plain port. */
  'line-breaks': 400,
  /** The head is larger than `limits.headBytes`. */
  'too-large': 431,
  /** A chunked body is broken, or a trailer belongs in a head. */
  body: 400,
  /** The extensions of a chunk, or the trailers, are too large. */
  'body-overhead': 413,
} as const;

/** A request head with unambiguous framing. Strings are latin1 and share the memory of the head's text. */
export class Http1RequestHead extends HeadText {
  readonly method: string;
  readonly target: string;
  readonly framing: Framing;
  readonly isHttp10: boolean;
  readonly summary: FieldSummary;

  constructor(
    text: string,
    { method, target, framing, isHttp10 }: Pick<Http1RequestHead, 'method' | 'target' | 'framing' | 'isHttp10'>,
    summary: FieldSummary,
    lineStarts: readonly number[],
  ) {
    super(text, lineStarts);
    this.method = method;
    this.target = target;
    this.framing = framing;
    this.isHttp10 = isHttp10;
    this.summary = summary;
  }

  /** The client wants the connection to end after the response: the default of HTTP/1.0 (RFC 9112 §9.3). */
  get isLast(): boolean {
    const { connectionClose, connectionKeepAlive } = this.summary;
    return connectionClose || (this.isHttp10 && !connectionKeepAlive);
  }

  /** It asks for WebSocket and nothing else (RFC 6455 §4.1). */
  get isWebSocket(): boolean {
    const { isToWebSocket, connectionUpgrade } = this.summary;
    const isAsked = isToWebSocket && connectionUpgrade;
    return isAsked && this.method === 'GET' && !this.isHttp10 && this.framing.kind === 'none';
  }

  /** An absolute target overrides Host (RFC 9112 §3.2.2). Undefined without either (HTTP/1.0). */
  get host(): string | undefined {
    if (this.target.charCodeAt(0) !== SLASH) {
      const authority = ABSOLUTE_FORM.exec(this.target)?.[1];
      if (authority !== undefined) return authority;
    }
    const { hostCount, hostStart, hostEnd } = this.summary;
    return hostCount === 0 ? undefined : this.text.slice(hostStart, hostEnd);
  }
}

/**
 * Reads one whole request head (latin1, its empty line included). Accepts only what is unambiguous by RFC 9112 §2 to
 * §6, otherwise returns the fault. `bytes` begin with those of `text`.
 */
export function parseRequestHead(
  text: string,
  bytes: Uint8Array = Buffer.from(text, 'latin1'),
): Http1RequestHead | RequestFault {
  const method = methodOf(text);
  if (method === undefined || method === PREFACE) return 'start-line';

  const targetStart = method.length + 1;
  let at = targetStart;
  while (TARGET[bytes[at] as number] === 1) at += 1;
  if (at === targetStart) return 'start-line';
  const isHttp10 = !text.startsWith(VERSION, at);
  if (isHttp10 && !text.startsWith(OLD_VERSION, at)) {
    return ANY_VERSION.test(text.slice(at, at + VERSION.length)) ? 'version' : 'start-line';
  }
  if (method === CONNECT) return 'method';
  const target = text.slice(targetStart, at);
  if (bytes[targetStart] !== SLASH && bytes[targetStart] !== ASTERISK && !ABSOLUTE_FORM.test(target)) {
    return 'start-line';
  }

  const lineStarts: number[] = [];
  const fields = readFields(bytes, at + VERSION.length, text.length, lineStarts);
  if (fields.end === UNCLEAR) return 'fields';
  // Only HTTP/1.0 requests may lack Host (RFC 9112 §3.2).
  if (fields.hostCount > 1 || (fields.hostCount === 0 && !isHttp10)) return 'host';
  if (fields.hostCount === 1 && !fields.isHostValid) return 'host';
  const framing = chooseRequestFraming(fields);
  // HTTP/1.0 has no transfer codings: servers differ in how they treat one (RFC 9112 §6.1).
  if (framing === undefined || (isHttp10 && fields.hasTransferEncoding)) return 'framing';
  return new Http1RequestHead(text, { method, target, framing, isHttp10 }, fields, lineStarts);
}

/** GET and POST as constants, which are compared and looked up faster than a part of the head. */
function methodOf(text: string): string | undefined {
  if (text.startsWith('GET ')) return 'GET';
  if (text.startsWith('POST ')) return 'POST';
  const method = text.slice(0, text.indexOf(' '));
  // A connection keeps the method: a slice would keep the head.
  return METHOD.test(method) ? detached(method) : undefined;
}

function chooseRequestFraming(fields: FieldSummary): Framing | undefined {
  if (fields.hasTransferEncoding) {
    return fields.isChunked && !fields.hasOddCodings && fields.contentLength === ABSENT ? CHUNKED : undefined;
  }
  if (fields.contentLength === UNCLEAR) return undefined;
  return fields.contentLength === ABSENT ? NO_BODY : lengthFraming(fields.contentLength);
}

/** Whether bytes can never become a head. Without this, `GET / HTTP/1.1\n\n` would wait until the time limit. */
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
