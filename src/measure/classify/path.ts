/**
 * Parses paths as Tomcat does (CoyoteAdapter), so that `//`, `/./` or `%2e` hides no call: cut path parameters from the
 * raw path, decode the segments, resolve dot segments, including escaped ones.
 */
import { isUtf8 } from 'node:buffer';
import { decodeText } from '../../config/rules/pattern.ts';

/**
 * The raw path of a request-target: `/app/a/b` for `http://plant/app/a;jsessionid=1/b?x=1`. Undefined for `*` and an
 * authority (RFC 9112 §3.2). Parameters go first, since `;jsessionid=` carries a session id.
 */
export function extractRawPath(target: string): string | undefined {
  const queryAt = target.indexOf('?');
  const raw = queryAt < 0 ? target : target.slice(0, queryAt);
  const authority = raw.charCodeAt(0) === SLASH ? '' : SCHEME_AND_AUTHORITY.exec(raw)?.[0];
  if (authority === undefined) return undefined;
  const path = raw.slice(authority.length);
  return path.includes(';') ? withoutParameters(path) : path;
}

/** Byte by byte: a path of 60 kB has up to 60,000 parameters. */
function withoutParameters(path: string): string {
  const bytes = Buffer.allocUnsafe(path.length);
  let length = 0;
  let isInParameter = false;
  for (let at = 0; at < path.length; at += 1) {
    const code = path.charCodeAt(at);
    if (code === SLASH) isInParameter = false;
    else if (code === SEMICOLON) isInParameter = true;
    if (!isInParameter) bytes[length++] = code;
  }
  return bytes.toString('latin1', 0, length);
}

/** Whether the path has escapes, bytes outside ASCII, or empty or dot segments. Other paths need no decoding. */
export function isIrregularPath(path: string): boolean {
  return IRREGULAR.test(path);
}

/** Segments of a path that are read. No pattern has as many. */
export const MAX_SEGMENTS = 256;

/**
 * The decoded segments of a raw path, at most `MAX_SEGMENTS`: `['a', 'c d']` for `/a//b/%2e/../c%20d/`. Undefined when
 * `..` would climb above the root (400 in Tomcat). One pass: a path of 60 kB has up to 60,000 segments.
 */
export function parseSegments(path: string): string[] | undefined {
  const starts: number[] = [];
  const ends: number[] = [];
  let depth = 0;
  for (let at = 0, start = 0; at <= path.length; at += 1) {
    if (at < path.length && path.charCodeAt(at) !== SLASH) continue;
    const dots = dotsIn(path, start, at);
    if (dots > 2) {
      if (depth < MAX_SEGMENTS) {
        starts[depth] = start;
        ends[depth] = at;
      }
      depth += 1;
    } else if (dots === 2) {
      depth -= 1;
      if (depth < 0) return undefined;
    }
    start = at + 1;
  }
  return starts.slice(0, depth).map((start, nth) => decodeSegment(path.slice(start, ends[nth])));
}

/** 0, 1 or 2 for an empty segment, `.` and `..`, also escaped; 3 for a name. */
function dotsIn(path: string, start: number, end: number): number {
  let dots = 0;
  for (let at = start; at < end && dots < 3; at += 1, dots += 1) {
    const code = path.charCodeAt(at);
    if (code === PERCENT && at + 2 < end && decodeHexByte(path, at + 1) === DOT) at += 2;
    else if (code !== DOT) return 3;
  }
  return dots;
}

/** A segment in latin1 with its escapes decoded, then its bytes as UTF-8; unchanged if either is invalid. */
export function decodeSegment(segment: string): string {
  if (!ENCODED.test(segment)) return segment;
  const bytes = Buffer.allocUnsafe(segment.length);
  let length = 0;
  let isAscii = true;
  for (let at = 0; at < segment.length; at += 1) {
    let byte = segment.charCodeAt(at);
    if (byte === PERCENT) {
      byte = decodeHexByte(segment, at + 1);
      if (byte < 0) return segment;
      at += 2;
    }
    if (byte >= 0x80) isAscii = false;
    bytes[length++] = byte;
  }
  if (isAscii) return bytes.toString('latin1', 0, length);
  return isUtf8(bytes.subarray(0, length)) ? bytes.toString('utf8', 0, length) : segment;
}

/** The byte whose two hexadecimal digits are at `at`; negative without two. */
export function decodeHexByte(text: string, at: number): number {
  return decodeHexDigit(text.charCodeAt(at)) * 16 + decodeHexDigit(text.charCodeAt(at + 1));
}

/** Context paths and prefixes may be text or URL-encoded: `Čistička` and `%C4%8Cisti%C4%8Dka` are the same. */
export function parseConfigSegments(path: string): string[] {
  return path.split('/').filter(Boolean).map(decodeText);
}

/** An application with its context path, e.g. `{ application: 'plant/north', segments: ['plant', 'north'] }`. */
export interface Context {
  readonly application: string;
  readonly segments: readonly string[];
}

/** The longest first: as in the server, /plant/north does not belong to the application /plant. */
export function createContexts(applications: readonly string[]): Context[] {
  const contexts = applications.map((application) => ({ application, segments: parseConfigSegments(application) }));
  return contexts.sort((a, b) => b.segments.length - a.segments.length);
}

export function startsWith(segments: readonly string[], wanted: readonly string[], offset = 0): boolean {
  return wanted.every((segment, index) => segments[offset + index] === segment);
}

export function isAtOrBelow(path: string, start: string): boolean {
  return path.startsWith(start) && (path.length === start.length || path.charCodeAt(start.length) === SLASH);
}

/** The value of a hexadecimal digit, or -256 for other characters (also NaN), so that two digits give a negative number. */
function decodeHexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -256;
}

const SLASH = 0x2f;
const SEMICOLON = 0x3b;
const DOT = 0x2e;
const PERCENT = 0x25;
const SCHEME_AND_AUTHORITY = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/]*/;
const IRREGULAR = /[%\x80-\xff]|\/[/.]/;
const ENCODED = /[%\x80-\xff]/;
