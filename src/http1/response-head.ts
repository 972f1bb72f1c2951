import { FIELD_VALUE, SPACE } from './characters.ts';
import {
  ABSENT,
  type FieldSummary,
  fieldValue,
  fieldValues,
  type HeadBytes,
  readFields,
  toHeadBytes,
  UNCLEAR,
} from './fields.ts';
import { CHUNKED, type Framing, lengthFraming, NO_BODY, UNTIL_CLOSE } from './framing.ts';

/** A response head as the relay needs it. */
export interface ResponseHead {
  readonly status: number;
  readonly framing: Framing;
  /** Whether the connection may go on after this response, as far as the response says. */
  readonly isPersistent: boolean;
}

const STATUS_START = 'HTTP/1.x '.length;

/**
 * Reads one whole response head (latin1 text up to and including its empty line) that answers `method`; undefined when it
 * is not well-formed, or when its framing is in doubt (RFC 9112 §6.3: then anything after it might be read as another response).
 */
export function parseResponseHead(
  text: string,
  method: string,
  head: HeadBytes = toHeadBytes(text),
): ResponseHead | undefined {
  const isVersion11 = text.startsWith('HTTP/1.1');
  if (!isVersion11 && !text.startsWith('HTTP/1.0')) return undefined;
  if (text.charCodeAt(STATUS_START - 1) !== SPACE) return undefined;
  const status = toStatus(text);
  if (status === undefined) return undefined;
  // The reason phrase may be missing, together with its space.
  let at = STATUS_START + 3;
  if (text.charCodeAt(at) !== SPACE && text.charCodeAt(at) !== 0x0d) return undefined;
  while (FIELD_VALUE[text.charCodeAt(at)] === 1) at += 1;
  if (!text.startsWith('\r\n', at)) return undefined;

  const fields = readFields(text, at + 2, head);
  if (fields.end === UNCLEAR) return undefined;
  const framing = toResponseFraming(status, method, fields);
  if (framing === undefined) return undefined;
  const isKept = isVersion11 ? !fields.connectionClose : fields.connectionKeepAlive;
  return { status, framing, isPersistent: isKept && framing.kind !== 'until-close' };
}

/**
 * The fields of a response head that `parseResponseHead` has taken, for those who want more of it than the relay does. Read a
 * second time then, so that a connection keeps no head in memory while nobody does.
 */
export class ResponseHeadFields {
  readonly status: number;
  readonly #text: string;
  readonly #lineStarts: readonly number[];

  constructor(status: number, text: string) {
    this.status = status;
    this.#text = text;
    this.#lineStarts = readFields(text, text.indexOf('\r\n') + 2, toHeadBytes(text)).lineStarts;
  }

  /** Value of the first field of that lower-case name, without surrounding blanks. */
  field(name: string): string | undefined {
    return fieldValue(this.#text, this.#lineStarts, name);
  }

  /** Values of all fields of that lower-case name, in order. */
  fields(name: string): readonly string[] {
    return fieldValues(this.#text, this.#lineStarts, name);
  }
}

/** Whether a status announces that the real response is still to come (RFC 9110 §15.2). */
export function isInterim(status: number): boolean {
  return status < 200;
}

function toStatus(text: string): number | undefined {
  let status = 0;
  for (let at = STATUS_START; at < STATUS_START + 3; at += 1) {
    const digit = text.charCodeAt(at) - 0x30;
    if (!(digit >= 0 && digit <= 9)) return undefined;
    status = status * 10 + digit;
  }
  return status >= 100 ? status : undefined;
}

function toResponseFraming(status: number, method: string, fields: FieldSummary): Framing | undefined {
  if (fields.contentLength === UNCLEAR) return undefined;
  if (fields.hasTransferEncoding && fields.contentLength !== ABSENT) return undefined;
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return NO_BODY;
  // A coding other than a single `chunked` ends with the connection (RFC 9112 §6.3, item 4).
  if (fields.hasTransferEncoding) return fields.isChunked ? CHUNKED : UNTIL_CLOSE;
  return fields.contentLength === ABSENT ? UNTIL_CLOSE : lengthFraming(fields.contentLength);
}
