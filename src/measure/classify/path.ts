/**
 * Parses paths as the application server does. Paths that the server takes for the same call must be the same call
 * here; otherwise a call could hide with `//`, `/./` or `%2e`. The order of steps is Tomcat's (CoyoteAdapter): cut path
 * parameters from the raw path, decode the segments, resolve dot segments, including escaped ones.
 */

/**
 * The raw path of a request-target, without scheme, authority, query and path parameters:
 * `http://plant/app/a;jsessionid=1/b?x=1` gives `/app/a/b`. Undefined for `*` and an authority (RFC 9112 §3.2).
 *
 * Path parameters are removed before any other code sees the path, since `;jsessionid=` carries a session id.
 */
export function toRawPath(target: string): string | undefined {
  const queryAt = target.indexOf('?');
  const raw = queryAt < 0 ? target : target.slice(0, queryAt);
  const path = raw.charCodeAt(0) === SLASH ? raw : toOriginForm(raw);
  return path === undefined || !path.includes(';') ? path : path.replace(PARAMETERS, '');
}

function toOriginForm(raw: string): string | undefined {
  const authority = SCHEME_AND_AUTHORITY.exec(raw)?.[0];
  if (authority === undefined) return undefined;
  return raw.slice(authority.length);
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
  try {
    // Raw bytes are escaped first, so that one strict UTF-8 decoder handles both.
    return decodeURIComponent(segment.replace(RAW_BYTES, escapeByte));
  } catch {
    return segment;
  }
}

/** Decodes a segment of a path from the configuration or a rule. It is text, not bytes, but may hold escapes. */
export function decodeText(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Context paths and prefixes may be text or URL-encoded: `Čistička` and `%C4%8Cisti%C4%8Dka` are the same. */
export function toConfigSegments(path: string): string[] {
  return path.split('/').filter(Boolean).map(decodeText);
}

function escapeByte(byte: string): string {
  return `%${byte.charCodeAt(0).toString(16)}`;
}

const SLASH = 0x2f;
const SCHEME_AND_AUTHORITY = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/]*/;
const PARAMETERS = /;[^/]*/g;
const IRREGULAR = /[%\x80-\xff]|\/[/.]/;
const ENCODED = /[%\x80-\xff]/;
const RAW_BYTES = /[\x80-\xff]/g;
