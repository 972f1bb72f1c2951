/** The fields that tell the upstream about the client: X-Forwarded-For, -Proto and -Host, and its certificate. */
import type { Config } from '../../config/config.ts';
import { CERTIFICATE_FIELDS, type CertificateMode, type Fields } from './certificate-fields.ts';
import type { FieldSummary } from './field-summary.ts';
import { withEditedLines, withLines, withTraceparent } from './head-edits.ts';
import type { Http1RequestHead } from './request-head.ts';
import { MAX_TEXT_BYTES } from './text.ts';

export type ForwardedMode = Config['forwarded'];

/** What the fields tell about the client, e.g. `{ remoteAddress: 'fe80::1%eth0', secure: false }`. */
export interface ForwardedClient {
  readonly remoteAddress: string;
  readonly secure: boolean;
  readonly certificateFields?: Fields;
}

export interface ForwardedHead {
  /** Undefined without one (HTTP/1.0). */
  readonly host: string | undefined;
  readonly summary: Pick<FieldSummary, 'hasForwardedProto' | 'hasForwardedHost'>;
}

/** Filters that read RFC 7239's `Forwarded` prefer it to the others, so a client's own must not pass beside them. */
const FORWARDED_FIELDS = ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'forwarded'];

/** CGI, WSGI and others take `Client_Cert`, `client.cert` and `Client-Cert` for one name (RFC 3875 §4.1.18). */
export function twinKey(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '-');
}

/** Keys of the fields that are removed from requests, since only the sidecar may write them. */
export function replacedFields(mode: ForwardedMode, certificates: CertificateMode): ReadonlySet<string> {
  const names = [...(mode === 'replace' ? FORWARDED_FIELDS : []), ...CERTIFICATE_FIELDS[certificates]];
  return new Set(names.map(twinKey));
}

/**
 * Lines to add after the request's own. `append`: one more X-Forwarded-For, which extends the same list (RFC 9110
 * §5.3), and the other two only if the client sent none: an ingress's `https` must survive. `replace`: all three; the
 * caller has removed `replacedFields`. `off`: none. The certificate's in each mode.
 */
export function forwardedLines(mode: ForwardedMode, client: ForwardedClient, head: ForwardedHead): string {
  const { certificateFields } = client;
  const certificate = certificateFields === undefined ? '' : linesOf(certificateFields);
  if (mode === 'off') return certificate;
  const isReplaced = mode === 'replace';
  const { host, summary } = head;
  let lines = `${certificate}X-Forwarded-For: ${withoutZone(client.remoteAddress)}\r\n`;
  if (isReplaced || !summary.hasForwardedProto) lines += `X-Forwarded-Proto: ${client.secure ? 'https' : 'http'}\r\n`;
  if (host !== undefined && (isReplaced || !summary.hasForwardedHost)) lines += `X-Forwarded-Host: ${host}\r\n`;
  return lines;
}

function linesOf(fields: Fields): string {
  return fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
}

/** `removed`: keys of `replacedFields`. */
export function withoutFields(headText: string, removed: ReadonlySet<string>): string {
  return withEditedLines(headText, (name, line) => (removed.has(twinKey(name)) ? '' : line));
}

/** A zone (`%eth0`) means nothing on another machine. */
function withoutZone(address: string): string {
  const zone = address.indexOf('%');
  return zone === -1 ? address : address.slice(0, zone);
}

export interface ForwardOptions {
  readonly forwarded: ForwardedMode;
  /** Fields and trailers that are removed from requests, as keys of `twinKey`. */
  readonly replacedFields: ReadonlySet<string>;
}

const EMPTY_LINE_BYTES = 2;

/** The text of a request's head with the fields that only the sidecar may write, and without the client's own. */
export function formatForwardedHead(
  { forwarded, replacedFields: removed }: ForwardOptions,
  head: Http1RequestHead,
  client: ForwardedClient,
  traceparent: string | undefined,
): string {
  const traced = traceparent === undefined ? head.text : withTraceparent(head.text, traceparent);
  const kept = removed.size === 0 ? traced : withoutFields(traced, removed);
  return `${kept.slice(0, -EMPTY_LINE_BYTES)}${forwardedLines(forwarded, client, head)}\r\n`;
}

/**
 * As `formatForwardedHead`, in one piece with the body so far: one write costs less than two. `text` is the latin1 text
 * of `bytes`, of their beginning, or of more.
 */
export function withForwardedHead(
  options: ForwardOptions,
  head: Http1RequestHead,
  client: ForwardedClient,
  bytes: Buffer,
  text: string,
  traceparent: string | undefined,
): Buffer | string {
  const headEnd = head.text.length;
  if (options.replacedFields.size > 0 || traceparent !== undefined) {
    const edited = formatForwardedHead(options, head, client, traceparent);
    return Buffer.concat([Buffer.from(edited, 'latin1'), bytes.subarray(headEnd)]);
  }
  if (options.forwarded === 'off') return bytes;
  const lines = forwardedLines(options.forwarded, client, head);
  if (bytes.length > Math.min(text.length, MAX_TEXT_BYTES)) return withLines(bytes, headEnd, bytes.length, lines);
  return `${text.slice(0, headEnd - EMPTY_LINE_BYTES)}${lines}${text.slice(headEnd - EMPTY_LINE_BYTES, bytes.length)}`;
}
