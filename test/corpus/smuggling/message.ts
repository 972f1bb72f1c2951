/**
 * The sidecar's treatment of a message that a marker request follows on the same connection. `refused`: the sidecar
 * answers and closes; `served`: read as one or more whole requests, and the marker after them; `closed`:
 * served, then closed without reading the marker; `open`: the marker is part of the message, or of one that it begins.
 */
export type Taken = 'refused' | 'served' | 'closed' | 'open';

export interface AmbiguousMessage {
  readonly name: string;
  /** Latin1. */
  readonly bytes: string;
  /** Several if it depends on the server; `why` says how. */
  readonly taken: readonly Taken[];
  readonly why: string;
}

export const HOST = 'Host: app.example';

/** A request that no client sends: it is content, or part of a field, of another one. */
export const SMUGGLED = `GET /smuggled HTTP/1.1\r\n${HOST}\r\n\r\n`;

/** Messages concerning the same rule, by what is odd about them; several forms of the same are numbered. */
export function messages(
  why: string,
  taken: Taken | readonly Taken[],
  odd: Readonly<Record<string, string | readonly string[]>>,
): AmbiguousMessage[] {
  return Object.entries(odd).flatMap(([what, forms]) =>
    [forms].flat().map((bytes, i) => {
      const name = typeof forms === 'string' ? what : `${what}, form ${i + 1}`;
      return { name, bytes, taken: [taken].flat(), why };
    }),
  );
}

export function head(...lines: readonly string[]): string {
  return `${lines.join('\r\n')}\r\n\r\n`;
}

export function get(...fields: readonly string[]): string {
  return head('GET /m HTTP/1.1', HOST, ...fields);
}

export function post(fields: readonly string[], body = ''): string {
  return head('POST /m HTTP/1.1', HOST, ...fields) + body;
}

/** By its length, the smuggled request is content; read as chunks, it is a request after an empty body. */
export function lengthOrChunks(...lines: readonly string[]): string {
  const body = `0\r\n\r\n${SMUGGLED}`;
  return post([`Content-Length: ${body.length}`, ...lines], body);
}

/** Read as chunks, the smuggled request is content; by its length, it follows the first chunk's line. */
export function chunksOrLength(...lines: readonly string[]): string {
  const size = SMUGGLED.length.toString(16);
  return post([`Content-Length: ${size.length + 2}`, ...lines], `${size}\r\n${SMUGGLED}\r\n0\r\n\r\n`);
}

export function chunked(body: string, ...fields: readonly string[]): string {
  return post(['Transfer-Encoding: chunked', ...fields], body);
}
