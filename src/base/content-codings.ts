/** Members of a Content-Encoding that are read, empty ones and `identity` included. */
const MAX_MEMBERS = 8;

/**
 * The codings that a `Content-Encoding` (RFC 9110 §8.4) names, e.g. `['gzip']`; empty if the content is as it is.
 * `['unreadable']`, an unknown coding, for a list of more than `MAX_MEMBERS`.
 */
export function parseCodings(contentEncoding: string | undefined): readonly string[] {
  const members = (contentEncoding ?? '').split(',', MAX_MEMBERS + 1);
  if (members.length > MAX_MEMBERS) return ['unreadable'];
  const names = members.map((name) => name.trim().toLowerCase());
  return names.filter((name) => name !== '' && name !== 'identity');
}
