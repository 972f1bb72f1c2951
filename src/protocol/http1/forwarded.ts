/**
 * The fields that tell the upstream about the client: X-Forwarded-For, -Proto and -Host. Tomcat's RemoteIpValve and
 * similar filters read them. RFC 7239's `Forwarded` passes unchanged.
 */
import type { Config } from '../../config/config.ts';
import { withEditedLines } from './head-lines.ts';

export type ForwardedMode = Config['forwarded'];

/** What the fields tell about the client, e.g. `{ remoteAddress: 'fe80::1%eth0', secure: false }`. */
export interface ForwardedClient {
  readonly remoteAddress: string;
  readonly secure: boolean;
}

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
 * Fields to add after the request's own, e.g. `[['X-Forwarded-For', '10.0.0.7'], ['X-Forwarded-Proto', 'http']]`.
 *
 * `append`: one more X-Forwarded-For line, which extends the same list (RFC 9110 §5.3). The other two are added only if
 * the client sent none: they come from the edge, and an ingress's `https` must survive. `replace`: all three; the
 * caller has removed `FORWARDED_FIELDS` before. `off`: none.
 */
export function forwardedFields(
  mode: ForwardedMode,
  client: ForwardedClient,
  own: OwnFields,
): readonly (readonly [name: string, value: string])[] {
  if (mode === 'off') return [];
  const isReplaced = mode === 'replace';
  const fields: [string, string][] = [['X-Forwarded-For', withoutZone(client.remoteAddress)]];
  if (isReplaced || !own.hasProto) fields.push(['X-Forwarded-Proto', client.secure ? 'https' : 'http']);
  if (own.host !== undefined && (isReplaced || !own.hasHost)) fields.push(['X-Forwarded-Host', own.host]);
  return fields;
}

/**
 * The fields of mode `append` as text to insert before a head's empty line, for the relay, which does not split heads
 * into fields. For `replace`: with both booleans false, after `withoutForwarded`.
 */
export function forwardedLines(client: ForwardedClient, host: string, hasProto: boolean, hasHost: boolean): string {
  const proto = hasProto ? '' : `X-Forwarded-Proto: ${client.secure ? 'https' : 'http'}\r\n`;
  const lines = `X-Forwarded-For: ${withoutZone(client.remoteAddress)}\r\n${proto}`;
  return hasHost ? lines : `${lines}X-Forwarded-Host: ${host}\r\n`;
}

export function withoutForwarded(headText: string): string {
  return withEditedLines(headText, (name, line) => (FORWARDED_FIELDS.has(name) ? '' : line));
}

/** A zone (`%eth0`) means nothing on another machine. */
function withoutZone(address: string): string {
  const zone = address.indexOf('%');
  return zone === -1 ? address : address.slice(0, zone);
}
