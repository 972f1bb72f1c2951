/**
 * Parses paths as the application server does. Paths that are the same call for the server must be the same call here;
 * otherwise a client could hide a call with `//`, `/./` or `%2e`. The order of steps is Tomcat's (CoyoteAdapter): cut
 * path parameters from the raw path, decode the segments, resolve dot segments, including escaped ones.
 */
import { isUtf8 } from 'node:buffer';
import { decodeText } from '../../config/rules/pattern.ts';

/**
 * The raw path of a request-target, without scheme, authority, query and path parameters:
 * `http://plant/app/a;jsessionid=1/b?x=1` gives `/app/a/b`. Undefined for `*` and an authority (RFC 9112 §3.2).
 *
 * Path parameters are removed before any other code sees the path, since `;jsessionid=` carries a session id.
 */
export function toRawPath(target: string): string | undefined {
  const queryAt = target.indexOf('?');
  const raw = queryAt < 0 ? target : target.slice(0, queryAt);
  const authority = raw.charCodeAt(0) === SLASH ? '' : SCHEME_AND_AUTHORITY.exec(raw)?.[0];
  if (authority === undefined) return undefined;
  const path = raw.slice(authority.length);
  return path.includes(';') ? path.replace(PARAMETERS, '') : path;
}

/** Whether the path has escapes, bytes outside ASCII, or empty or dot segments. Other paths need no decoding. */
export function isIrregularPath(path: string): boolean {
  return IRREGULAR.test(path);
}

/**
 * The decoded segments of a raw path, without dot segments and empty ones: `/a//b/%2e/../c%20d/` gives `['a', 'c d']`.
 * A trailing slash makes no difference. Undefined when `..` would climb above the root, which Tomcat answers with 400.
 */
export function toSegments(path: string): string[] | undefined {
  const segments: string[] = [];
  for (const segment of ENCODED.test(path) ? decodeSegments(path) : path.split('/')) {
    if (segment === '' || segment === '.') continue;
    if (segment !== '..') segments.push(segment);
    else if (segments.pop() === undefined) return undefined;
  }
  return segments;
}

/**
 * The segments of a path, each with its escapes decoded, and then all its bytes as UTF-8. `path` is latin1, one
 * character for each byte. A segment with invalid UTF-8 or a bad escape stays unchanged: it is still a usable name.
 *
 * It reads a path of 60 kB full of escapes in 3 ms. A regular expression or decodeURIComponent for each segment takes
 * up to 200 ms, and all clients wait that long.
 */
function decodeSegments(path: string): string[] {
  const segments: string[] = [];
  const bytes = Buffer.allocUnsafe(path.length);
  let start = 0;
  let length = 0;
  let isAscii = true;
  let isBad = false;
  for (let at = 0; at <= path.length; at++) {
    let byte = at < path.length ? path.charCodeAt(at) : SLASH;
    if (byte === SLASH) {
      if (isAscii && !isBad) segments.push(bytes.toString('latin1', 0, length));
      else if (!isBad && isUtf8(bytes.subarray(0, length))) segments.push(bytes.toString('utf8', 0, length));
      else segments.push(path.slice(start, at));
      start = at + 1;
      length = 0;
      isAscii = true;
      isBad = false;
      continue;
    }
    if (byte === PERCENT) {
      byte = toHexDigit(path.charCodeAt(at + 1)) * 16 + toHexDigit(path.charCodeAt(at + 2));
      if (byte >= 0) at += 2;
      else isBad = true;
    }
    if (byte >= 0x80) isAscii = false;
    bytes[length++] = byte;
  }
  return segments;
}

/** Decodes one segment, which has no slash, as `toSegments` does. */
export function decodeSegment(segment: string): string {
  return ENCODED.test(segment) ? decodeSegments(segment).join('/') : segment;
}

/** Context paths and prefixes may be text or URL-encoded: `Čistička` and `%C4%8Cisti%C4%8Dka` are the same. */
export function toConfigSegments(path: string): string[] {
  return path.split('/').filter(Boolean).map(decodeText);
}

/** The value of a hexadecimal digit, or -256 for other characters, so that two digits give a negative number. */
function toHexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -256;
}

const SLASH = 0x2f;
const PERCENT = 0x25;
const SCHEME_AND_AUTHORITY = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/]*/;
const PARAMETERS = /;[^/]*/g;
const IRREGULAR = /[%\x80-\xff]|\/[/.]/;
const ENCODED = /[%\x80-\xff]/;
