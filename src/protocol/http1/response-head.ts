import { CR, FIELD_VALUE, LF, SPACE } from './characters.ts';
import { ABSENT, type FieldSummary, fieldValue, fieldValues, readFields, UNCLEAR } from './field-summary.ts';
import { CHUNKED, type Framing, lengthFraming, NO_BODY, UNTIL_CLOSE } from './framing.ts';

export interface ResponseHead {
  readonly status: number;
  readonly framing: Framing;
  readonly isPersistent: boolean;
}

const VERSION = 'HTTP/1.';
const DIGIT_0 = 0x30;
const DIGIT_1 = 0x31;

/**
 * Reads one whole response head (`bytes` from `start` to `end`, its empty line included) that answers `method`.
 * Undefined if it is not well-formed, or if its framing is in doubt (RFC 9112 §6.3: anything after it might then be
 * read as another response).
 */
export function parseResponseHead(
  bytes: Uint8Array,
  start: number,
  end: number,
  method: string,
): ResponseHead | undefined {
  const minor = bytes[start + VERSION.length];
  if (!startsWithVersion(bytes, start) || (minor !== DIGIT_0 && minor !== DIGIT_1)) return undefined;
  const statusStart = start + VERSION.length + 2;
  if (bytes[statusStart - 1] !== SPACE) return undefined;
  const status = parseStatus(bytes, statusStart);
  if (status === undefined) return undefined;
  // The reason phrase and the space before it may be missing.
  let at = statusStart + 3;
  if (bytes[at] !== SPACE && bytes[at] !== CR) return undefined;
  while (at < end && FIELD_VALUE[bytes[at] as number] === 1) at += 1;
  if (bytes[at] !== CR || bytes[at + 1] !== LF) return undefined;

  const fields = readFields(bytes, at + 2, end);
  if (fields.end === UNCLEAR) return undefined;
  const framing = chooseResponseFraming(status, method, fields);
  if (framing === undefined) return undefined;
  const isKept = minor === DIGIT_1 ? !fields.connectionClose : fields.connectionKeepAlive;
  return { status, framing, isPersistent: isKept && framing.kind !== 'until-close' };
}

/**
 * The fields of a response head that `parseResponseHead` has accepted, for observers, which need more of it than the
 * relay. It parses the head a second time, so that a connection without observers keeps no head in memory.
 */
export class ResponseHeadFields {
  readonly status: number;
  readonly #text: string;
  readonly #lineStarts: readonly number[];

  constructor(status: number, text: string) {
    this.status = status;
    this.#text = text;
    this.#lineStarts = readFields(Buffer.from(text, 'latin1'), text.indexOf('\r\n') + 2, text.length).lineStarts;
  }

  /** Value of the first field of that lower-case name, without surrounding whitespace. */
  field(name: string): string | undefined {
    return fieldValue(this.#text, this.#lineStarts, name);
  }

  /** As `field`, for all fields of that name, in order. */
  fields(name: string): readonly string[] {
    return fieldValues(this.#text, this.#lineStarts, name);
  }
}

/** Whether the final response is still to come (RFC 9110 §15.2). */
export function isInterim(status: number): boolean {
  return status < 200;
}

function startsWithVersion(bytes: Uint8Array, start: number): boolean {
  for (let i = 0; i < VERSION.length; i += 1) {
    if (bytes[start + i] !== VERSION.charCodeAt(i)) return false;
  }
  return true;
}

function parseStatus(bytes: Uint8Array, start: number): number | undefined {
  let status = 0;
  for (let at = start; at < start + 3; at += 1) {
    const digit = (bytes[at] as number) - DIGIT_0;
    if (!(digit >= 0 && digit <= 9)) return undefined;
    status = status * 10 + digit;
  }
  return status >= 100 ? status : undefined;
}

function chooseResponseFraming(status: number, method: string, fields: FieldSummary): Framing | undefined {
  if (fields.contentLength === UNCLEAR) return undefined;
  if (fields.hasTransferEncoding && fields.contentLength !== ABSENT) return undefined;
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return NO_BODY;
  // The final coding decides, also if `chunked` was said twice, as Tomcat does when an application sets the field, too
  // (RFC 9112 §6.3, item 4).
  if (fields.hasTransferEncoding) return fields.isChunked ? CHUNKED : UNTIL_CLOSE;
  return fields.contentLength === ABSENT ? UNTIL_CLOSE : lengthFraming(fields.contentLength);
}
