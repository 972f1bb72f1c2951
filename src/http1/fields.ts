import { COLON, CR, FIELD_VALUE, isWordAt, LF, SPACE, TAB, TOKEN } from './characters.ts';

/** Largest length whose digits we add up exactly; a longer one is no real body. */
const MAX_LENGTH_DIGITS = 15;

/** Content-Length or Transfer-Encoding as found: absent, once and understood, or anything else. */
export const ABSENT = -1;
export const UNCLEAR = -2;

/**
 * What framing and routing need of a field section, found in one pass: the relay does this once for each head, so it is
 * one object filled by one loop rather than a list of fields.
 */
export class FieldSummary {
  /** Offset of each field line in the head's text. */
  readonly lineStarts: number[] = [];
  /** Offset just past the empty line, or `UNCLEAR` when the section is not strictly well-formed. */
  end = UNCLEAR;
  /** Bytes, `ABSENT`, or `UNCLEAR` (signed, empty, a list, twice). */
  contentLength = ABSENT;
  hasTransferEncoding = false;
  /** The one Transfer-Encoding is exactly `chunked`. */
  isChunked = false;
  hostCount = 0;
  hostStart = 0;
  hostEnd = 0;
  hasUpgrade = false;
  hasForwardedProto = false;
  hasForwardedHost = false;
  connectionClose = false;
  connectionKeepAlive = false;
}

/** Where the bytes of a head's text are: the byte at `offset + i` is the text's character `i`. */
export interface HeadBytes {
  readonly bytes: Uint8Array;
  readonly offset: number;
}

export function toHeadBytes(text: string): HeadBytes {
  return { bytes: Buffer.from(text, 'latin1'), offset: 0 };
}

/**
 * Reads the field section of `text` from `start`, the offset just past the start line's CRLF. Strict by RFC 9112 §5: no
 * folding, no blank before a colon, no bare CR or LF, no control characters.
 *
 * It looks at each character: in the bytes, since a string is asked for its kind at each of them.
 */
export function readFields(text: string, start: number, { bytes, offset }: HeadBytes): FieldSummary {
  const summary = new FieldSummary();
  const end = offset + text.length;
  let at = offset + start;
  for (;;) {
    if (bytes[at] === CR) {
      if (bytes[at + 1] === LF && at + 2 === end) summary.end = text.length;
      return summary;
    }
    const nameStart = at;
    while (at < end && TOKEN[bytes[at] as number] === 1) at += 1;
    const nameEnd = at;
    if (nameEnd === nameStart || bytes[nameEnd] !== COLON) return summary;
    at += 1;
    while (at < end && (bytes[at] === SPACE || bytes[at] === TAB)) at += 1;
    const valueStart = at;
    while (at < end && FIELD_VALUE[bytes[at] as number] === 1) at += 1;
    if (at + 1 >= end || bytes[at] !== CR || bytes[at + 1] !== LF) return summary;
    const lineStart = nameStart - offset;
    summary.lineStarts.push(lineStart);
    const valueEnd = trimmedEnd(text, valueStart - offset, at - offset);
    noteField(summary, text, lineStart, nameEnd - offset, valueStart - offset, valueEnd);
    at += 2;
  }
}

/** The value of the first field of that lower-case name, without surrounding blanks. */
export function fieldValue(text: string, lineStarts: readonly number[], name: string): string | undefined {
  for (const lineStart of lineStarts) {
    if (isFieldAt(text, lineStart, name)) return valueAt(text, lineStart + name.length + 1);
  }
  return undefined;
}

/** The values of all fields of that lower-case name, in order. */
export function fieldValues(text: string, lineStarts: readonly number[], name: string): string[] {
  return lineStarts
    .filter((lineStart) => isFieldAt(text, lineStart, name))
    .map((lineStart) => valueAt(text, lineStart + name.length + 1));
}

function isFieldAt(text: string, lineStart: number, name: string): boolean {
  return text.charCodeAt(lineStart + name.length) === COLON && isWordAt(text, lineStart, name);
}

/** The value from `start` to the end of its line, without surrounding blanks. */
function valueAt(text: string, start: number): string {
  let valueStart = start;
  while (text.charCodeAt(valueStart) === SPACE || text.charCodeAt(valueStart) === TAB) valueStart += 1;
  return text.slice(valueStart, trimmedEnd(text, valueStart, text.indexOf('\r', valueStart)));
}

function trimmedEnd(text: string, start: number, end: number): number {
  let at = end;
  while (at > start && (text.charCodeAt(at - 1) === SPACE || text.charCodeAt(at - 1) === TAB)) at -= 1;
  return at;
}

function noteField(
  summary: FieldSummary,
  text: string,
  nameStart: number,
  nameEnd: number,
  valueStart: number,
  valueEnd: number,
): void {
  // The length of a name rules out nearly every field before a character is compared.
  switch (nameEnd - nameStart) {
    case 4:
      if (!isWordAt(text, nameStart, 'host')) return;
      summary.hostCount += 1;
      summary.hostStart = valueStart;
      summary.hostEnd = valueEnd;
      return;
    case 7:
      if (isWordAt(text, nameStart, 'upgrade')) summary.hasUpgrade = true;
      return;
    case 10:
      if (isWordAt(text, nameStart, 'connection')) noteConnection(summary, text, valueStart, valueEnd);
      return;
    case 14:
      if (!isWordAt(text, nameStart, 'content-length')) return;
      summary.contentLength = summary.contentLength === ABSENT ? toLength(text, valueStart, valueEnd) : UNCLEAR;
      return;
    case 16:
      if (isWordAt(text, nameStart, 'x-forwarded-host')) summary.hasForwardedHost = true;
      return;
    case 17:
      if (isWordAt(text, nameStart, 'transfer-encoding')) {
        summary.isChunked =
          !summary.hasTransferEncoding && valueEnd - valueStart === 7 && isWordAt(text, valueStart, 'chunked');
        summary.hasTransferEncoding = true;
      } else if (isWordAt(text, nameStart, 'x-forwarded-proto')) summary.hasForwardedProto = true;
      return;
    default:
  }
}

function noteConnection(summary: FieldSummary, text: string, start: number, end: number): void {
  // Nearly always one word.
  if (end - start === 5 && isWordAt(text, start, 'close')) summary.connectionClose = true;
  else if (end - start === 10 && isWordAt(text, start, 'keep-alive')) summary.connectionKeepAlive = true;
  else noteConnectionOptions(summary, text.slice(start, end));
}

function noteConnectionOptions(summary: FieldSummary, value: string): void {
  for (const option of value.toLowerCase().split(',')) {
    const token = option.trim();
    if (token === 'close') summary.connectionClose = true;
    else if (token === 'keep-alive') summary.connectionKeepAlive = true;
  }
}

function toLength(text: string, start: number, end: number): number {
  if (end === start || end - start > MAX_LENGTH_DIGITS) return UNCLEAR;
  let value = 0;
  for (let at = start; at < end; at += 1) {
    const digit = text.charCodeAt(at) - 0x30;
    if (digit < 0 || digit > 9) return UNCLEAR;
    value = value * 10 + digit;
  }
  return value;
}
