/**
 * Parses paths as the application server does. Paths that the server takes for the same call must be the same call
 * here; otherwise a call could hide with `//`, `/./` or `%2e`. The order of steps is Tomcat's (CoyoteAdapter): cut path
 * parameters from the raw path, decode the segments, resolve dot segments, including escaped ones.
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
  for (const raw of path.split('/')) {
    const segment = decodeSegment(raw);
    if (segment === '' || segment === '.') continue;
    if (segment !== '..') segments.push(segment);
    else if (segments.pop() === undefined) return undefined;
  }
  return segments;
}

/**
 * Decodes the escapes of a segment, and then all bytes as UTF-8. `segment` is latin1, one character for each byte. With
 * invalid UTF-8 or a bad escape it is returned unchanged: it is still a usable name.
 */
export function decodeSegment(segment: string): string {
  if (!ENCODED.test(segment)) return segment;
  if (BAD_ESCAPE.test(segment)) return segment;
  const bytes = Buffer.from(segment.replace(ESCAPE, toByte), 'latin1');
  // decodeURIComponent throws for invalid UTF-8: a head of 64 KiB full of that would block the event loop for 200 ms.
  return isUtf8(bytes) ? bytes.toString('utf8') : segment;
}

/** Context paths and prefixes may be text or URL-encoded: `Čistička` and `%C4%8Cisti%C4%8Dka` are the same. */
export function toConfigSegments(path: string): string[] {
  return path.split('/').filter(Boolean).map(decodeText);
}

function toByte(hex: string): string {
  return String.fromCharCode(Number.parseInt(hex.slice(1), 16));
}

const SLASH = 0x2f;
const SCHEME_AND_AUTHORITY = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/]*/;
const PARAMETERS = /;[^/]*/g;
const IRREGULAR = /[%\x80-\xff]|\/[/.]/;
const ENCODED = /[%\x80-\xff]/;
const ESCAPE = /%[0-9A-Fa-f]{2}/g;
const BAD_ESCAPE = /%(?![0-9A-Fa-f]{2})/;
