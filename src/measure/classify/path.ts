/**
 * Paths as the application server reads them. What it takes for the same call must be the same call here, or a call could
 * hide behind `//`, `/./` or `%2e`. So the order of steps is Tomcat's (CoyoteAdapter): path parameters are cut from the raw
 * path, then segments are decoded, then dot segments are resolved, also those that were written with escapes.
 */

/**
 * The raw path of a request-target, without scheme, authority, query and path parameters:
 * `http://plant/app/a;jsessionid=1/b?x=1` gives `/app/a/b`. Undefined for `*` and an authority (RFC 9112 §3.2).
 *
 * Parameters go before anything else looks at the path, since `;jsessionid=` carries a session's id.
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

/** Whether the path's segments are anything but its text between single slashes; the others need no reading at all. */
export function isIrregularPath(path: string): boolean {
  return IRREGULAR.test(path);
}

/**
 * The segments of a raw path, decoded, dot segments and empty ones resolved: `/a//b/%2e/../c%20d/` gives `['a', 'c d']`.
 * A slash at the end makes no difference. Undefined when `..` would climb above the root, which Tomcat answers with 400.
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
 * A segment's text: escapes resolved and the bytes read as UTF-8, whether they came escaped or raw. `segment` is latin1,
 * a character for each byte. What is no UTF-8 or holds a bad escape stays as it is: it still is a name, if an odd one.
 */
export function decodeSegment(segment: string): string {
  if (!ENCODED.test(segment)) return segment;
  try {
    // Raw bytes become escapes first, so that one decoder, which refuses what is not UTF-8, sees both.
    return decodeURIComponent(segment.replace(RAW_BYTES, escapeByte));
  } catch {
    return segment;
  }
}

/** A segment of a path that the configuration or a rule holds: a text, not bytes; escapes are understood all the same. */
export function decodeText(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Context paths and prefixes may be written as text or as in an URL: `Čistička` and `%C4%8Cisti%C4%8Dka` are the same. */
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
