/** The codings that a `Content-Encoding` (RFC 9110 §8.4) names, e.g. `['gzip']`; empty if the content is as it is. */
export function parseCodings(contentEncoding: string | undefined): readonly string[] {
  const names = (contentEncoding ?? '').split(',').map((name) => name.trim().toLowerCase());
  return names.filter((name) => name !== '' && name !== 'identity');
}
