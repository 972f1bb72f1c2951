/**
 * Edits of heads: the fields that tell the upstream about the client (X-Forwarded-For, -Proto and -Host, and its
 * certificate), `traceparent`, upgrades, and the notice of a drain.
 */
import type { Config } from '../../config/config.ts';
import { CERTIFICATE_FIELDS, type CertificateMode, type Fields } from './certificate-fields.ts';
import { COMMA, type FieldSummary, isBlank, isWordAt, SPACE } from './field-summary.ts';
import type { Http1RequestHead } from './request-head.ts';
import { MAX_TEXT_BYTES } from './text.ts';

export type ForwardedMode = Config['forwarded'];

/** What the fields tell about the client, e.g. `{ remoteAddress: 'fe80::1%eth0', secure: false }`. */
interface ForwardedClient {
  readonly remoteAddress: string;
  readonly secure: boolean;
  readonly certificateFields?: Fields;
}

type ForwardedHead = Pick<Http1RequestHead, 'host'> & {
  readonly summary: Pick<FieldSummary, 'hasForwardedProto' | 'hasForwardedHost'>;
};

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
  const certificate = certificateFields?.map(([name, value]) => `${name}: ${value}\r\n`).join('') ?? '';
  if (mode === 'off') return certificate;
  const isReplaced = mode === 'replace';
  const { host, summary } = head;
  const { remoteAddress } = client;
  // A zone (`%eth0`) means nothing on another machine.
  const zoneAt = remoteAddress.indexOf('%');
  const address = zoneAt === -1 ? remoteAddress : remoteAddress.slice(0, zoneAt);
  let lines = `${certificate}X-Forwarded-For: ${address}\r\n`;
  if (isReplaced || !summary.hasForwardedProto) lines += `X-Forwarded-Proto: ${client.secure ? 'https' : 'http'}\r\n`;
  if (host !== undefined && (isReplaced || !summary.hasForwardedHost)) lines += `X-Forwarded-Host: ${host}\r\n`;
  return lines;
}

/** `removed`: keys of `replacedFields`. */
export function withoutFields(headText: string, removed: ReadonlySet<string>): string {
  return withEditedLines(headText, (name, line) => (removed.has(twinKey(name)) ? '' : line));
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

/**
 * Edits the field lines of a whole head in latin1. `edit` gets each line's lower-case name and the line with its CRLF
 * and folds (RFC 9112 §5.2), and returns the replacement; `''` removes it. An unchanged line keeps every byte.
 */
export function withEditedLines(headText: string, edit: (name: string, line: string) => string): string {
  let edited = '';
  let at = headText.indexOf('\r\n') + 2;
  edited += headText.slice(0, at);
  while (at < headText.length) {
    const end = endOfLine(headText, at);
    const line = headText.slice(at, end);
    const colon = line.indexOf(':');
    edited += colon === -1 ? line : edit(line.slice(0, colon).trimEnd().toLowerCase(), line);
    at = end;
  }
  return edited;
}

function endOfLine(headText: string, start: number): number {
  let end = headText.indexOf('\r\n', start);
  while (end > start && isBlank(headText.charCodeAt(end + 2))) end = headText.indexOf('\r\n', end + 2);
  return end === -1 ? headText.length : end + 2;
}

/** Replaces the client's own field, or adds one at the end. */
export function withTraceparent(headText: string, traceparent: string): string {
  const line = `traceparent: ${traceparent}\r\n`;
  let isPlaced = false;
  const edited = withEditedLines(headText, (name, own) => {
    if (name !== 'traceparent') return own;
    const replacement = isPlaced ? '' : line;
    isPlaced = true;
    return replacement;
  });
  return isPlaced ? edited : `${headText.slice(0, -EMPTY_LINE_BYTES)}${line}\r\n`;
}

/** Adds `Connection: close` to a response (RFC 9112 §9.6). */
export function withDrainNotice(bytes: Buffer, headEnd: number, end: number): Buffer {
  return withLines(bytes, headEnd, end, 'Connection: close\r\n');
}

/** Copies `bytes` up to `end`, with latin1 `lines` inserted before the empty line that ends at `headEnd`. */
export function withLines(bytes: Buffer, headEnd: number, end: number, lines: string): Buffer {
  const at = headEnd - EMPTY_LINE_BYTES;
  const copy = Buffer.allocUnsafe(end + lines.length);
  bytes.copy(copy, 0, 0, at);
  copy.write(lines, at, 'latin1');
  bytes.copy(copy, at + lines.length, at, end);
  return copy;
}

/** Fields of an upgrade request, also listed in Connection (RFC 9110 §7.8; HTTP2-Settings: RFC 7540 §3.2.1). */
const UPGRADE_FIELDS: readonly string[] = ['upgrade', 'http2-settings'];

/** A next proxy would remove the fields that Connection names (RFC 9110 §7.6.1), so a client must not name these. */
const OWN_FIELDS: readonly string[] = [...FORWARDED_FIELDS, ...Object.values(CERTIFICATE_FIELDS).flat(), 'traceparent'];

/**
 * A request's head with a Connection that names no field that the sidecar writes, and, unless `keepsUpgrade`, without
 * Upgrade, HTTP2-Settings and their names in it; everything else stays byte for byte. A server may ignore an upgrade
 * (RFC 9110 §7.8), and then answers in HTTP/1.1.
 */
export function withAllowedOptions(headText: string, keepsUpgrade: boolean): string {
  const removed = keepsUpgrade ? OWN_FIELDS : [...OWN_FIELDS, ...UPGRADE_FIELDS];
  return withEditedLines(headText, (name, line) => {
    if (!keepsUpgrade && UPGRADE_FIELDS.includes(name)) return '';
    return name === 'connection' ? withoutOptions(line, removed) : line;
  });
}

/** `Connection: a, Upgrade, b` without the `removed` options; '' if none is left. One pass, without a list. */
function withoutOptions(line: string, removed: readonly string[]): string {
  const bytes = Buffer.allocUnsafe(line.length);
  const listStart = line.indexOf(':') + 1;
  const end = line.length - 2;
  let length = bytes.write(line.slice(0, listStart), 'latin1');
  let hasOption = false;
  for (let at = listStart, next = at; at < end; at = next + 1) {
    const comma = line.indexOf(',', at);
    next = comma === -1 ? end : comma;
    if (isOption(line, at, next, removed)) continue;
    if (hasOption) bytes[length++] = COMMA;
    for (let from = at; from < next; from += 1) bytes[length++] = line.charCodeAt(from);
    hasOption = true;
  }
  return hasOption ? `${bytes.toString('latin1', 0, length)}\r\n` : '';
}

function isOption(line: string, start: number, end: number, names: readonly string[]): boolean {
  let [from, to] = [start, end];
  while (from < to && line.charCodeAt(from) <= SPACE) from += 1;
  while (to > from && line.charCodeAt(to - 1) <= SPACE) to -= 1;
  return names.some((name) => to - from === name.length && isWordAt(line, from, name));
}
