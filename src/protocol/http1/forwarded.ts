/**
 * What the upstream is told of the client: X-Forwarded-For, -Proto and -Host, the fields that Tomcat's RemoteIpValve and
 * its like read. RFC 7239's `Forwarded` passes untouched.
 */
import type { Config } from '../../config/config.ts';
import { withEditedLines } from './head-lines.ts';

export type ForwardedMode = Config['forwarded'];

/** The client as it is told of, e.g. `{ remoteAddress: '::ffff:10.0.0.7', secure: false }`. */
export interface ForwardedClient {
  readonly remoteAddress: string;
  readonly secure: boolean;
}

/** What the request itself brings. */
export interface OwnFields {
  /** Value of Host; `undefined` without one (HTTP/1.0). */
  readonly host: string | undefined;
  readonly hasProto: boolean;
  readonly hasHost: boolean;
}

export const FORWARDED_FIELDS: ReadonlySet<string> = new Set([
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
]);

/**
 * Fields to add behind the request's own, e.g. `[['X-Forwarded-For', '10.0.0.7'], ['X-Forwarded-Proto', 'http']]`.
 *
 * `append`: one more X-Forwarded-For line, which is the same list (RFC 9110 §5.3); the other two only if the client sent
 * none: they come from the edge, and an ingress's `https` must survive. `replace`: all three, after the caller has
 * removed `FORWARDED_FIELDS`. `off`: none.
 */
export function forwardedFields(
  mode: ForwardedMode,
  client: ForwardedClient,
  own: OwnFields,
): readonly (readonly [name: string, value: string])[] {
  if (mode === 'off') return [];
  const isReplaced = mode === 'replace';
  const fields: [string, string][] = [['X-Forwarded-For', toPlainAddress(client.remoteAddress)]];
  if (isReplaced || !own.hasProto) fields.push(['X-Forwarded-Proto', client.secure ? 'https' : 'http']);
  if (own.host !== undefined && (isReplaced || !own.hasHost)) fields.push(['X-Forwarded-Host', own.host]);
  return fields;
}

/**
 * The same for mode `append` as text to insert before a head's empty line, for the path that does not take heads apart;
 * for `replace`, with both booleans false, behind `withoutForwarded`.
 */
export function forwardedLines(client: ForwardedClient, host: string, hasProto: boolean, hasHost: boolean): string {
  return forwardedForLine(client) + forwardedOriginLines(client, host, hasProto, hasHost);
}

/** The line that is the same for all requests of a connection: `X-Forwarded-For: 10.0.0.7\r\n`. */
export function forwardedForLine(client: ForwardedClient): string {
  return `X-Forwarded-For: ${toPlainAddress(client.remoteAddress)}\r\n`;
}

/** The lines behind it, which depend on the request; `''` if it brought both. */
export function forwardedOriginLines(
  client: ForwardedClient,
  host: string,
  hasProto: boolean,
  hasHost: boolean,
): string {
  const proto = hasProto ? '' : client.secure ? 'X-Forwarded-Proto: https\r\n' : 'X-Forwarded-Proto: http\r\n';
  return hasHost ? proto : `${proto}X-Forwarded-Host: ${host}\r\n`;
}

/** A head without any of the three fields. */
export function withoutForwarded(headText: string): string {
  return withEditedLines(headText, (name, line) => (FORWARDED_FIELDS.has(name) ? '' : line));
}

/** `10.0.0.7` for `::ffff:10.0.0.7`: what a listener on `::` calls IPv4 clients means nothing to the upstream. No zone. */
export function toPlainAddress(address: string): string {
  const zone = address.indexOf('%');
  const plain = zone === -1 ? address : address.slice(0, zone);
  return MAPPED_IPV4.test(plain) ? plain.slice(MAPPED_PREFIX_LENGTH) : plain;
}

const MAPPED_IPV4 = /^::ffff:\d{1,3}(?:\.\d{1,3}){3}$/i;
const MAPPED_PREFIX_LENGTH = '::ffff:'.length;
