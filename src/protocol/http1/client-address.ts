/**
 * Finds the client of a request in the field that trusted proxies write: X-Forwarded-For, or Forwarded (RFC 7239). Each
 * proxy appends the address of its own client, so everything left of the last address that is not trusted may be
 * forged.
 */
import net from 'node:net';
import { type AddressRanges, normalizeAddress } from '../../base/address.ts';

export type ClientField = 'x-forwarded-for' | 'forwarded';

/** Trusted addresses until the walk ends, as at an unreadable one. One of IPv6 counts as ten: it takes as long. */
export const MAX_HOPS = 2_000;
const IPV6_HOPS = 10;

/** Real elements have four pairs (RFC 7239 §5). An element with more cannot be read. */
export const MAX_PAIRS = 32;

/** `lines`: the values of all fields of that name, in order. Undefined: the proxy itself is the client. */
export function clientAddressOf(
  field: ClientField,
  lines: readonly string[],
  trusted: AddressRanges,
): string | undefined {
  const list = lines.join(',');
  let client: string | undefined;
  let end = list.length;
  for (let hops = 0; end >= 0 && hops < MAX_HOPS; ) {
    const from = field === 'forwarded' ? lastCommaOutsideQuotes(list, end) : lastComma(list, end);
    const element = list.slice(from + 1, end).trim();
    const address = field === 'forwarded' ? parseForwardedElement(element) : parseNode(element);
    if (address === undefined) return client;
    client = address;
    if (!trusted.has(address)) return client;
    hops += element.includes(':', element.indexOf(':') + 1) ? IPV6_HOPS : 1;
    end = from;
  }
  return client;
}

/** Before `end`; -1 without one. */
function lastComma(list: string, end: number): number {
  return end === 0 ? -1 : list.lastIndexOf(',', end - 1);
}

/** From the right, so that an open quote of a client cannot swallow what proxies wrote after it; -1 without one. */
function lastCommaOutsideQuotes(list: string, end: number): number {
  let isQuoted = false;
  for (let at = end - 1; at >= 0; at -= 1) {
    const code = list.charCodeAt(at);
    if (code === QUOTE && !isEscaped(list, at)) isQuoted = !isQuoted;
    else if (code === COMMA && !isQuoted) return at;
  }
  return -1;
}

function isEscaped(text: string, at: number): boolean {
  let from = at;
  while (text.charCodeAt(from - 1) === BACKSLASH) from -= 1;
  return (at - from) % 2 === 1;
}

/** E.g. `for="[2001:db8::1]:80";proto=https` is `2001:db8::1`. Undefined unless it has exactly one `for`. */
function parseForwardedElement(element: string): string | undefined {
  let node: string | undefined;
  let pairs = 0;
  for (let at = 0; at < element.length; at = PAIR.lastIndex) {
    pairs += 1;
    if (pairs > MAX_PAIRS) return undefined;
    PAIR.lastIndex = at;
    const { name, token, quoted } = PAIR.exec(element)?.groups ?? {};
    // Without a match, `lastIndex` is 0.
    if (PAIR.lastIndex === 0) return undefined;
    if (name?.toLowerCase() !== 'for') continue;
    if (node !== undefined) return undefined;
    node = token ?? quoted?.replace(/\\(.)/g, '$1');
  }
  return node === undefined ? undefined : parseNode(node);
}

/** `1.2.3.4`, `1.2.3.4:80`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:80`; undefined for anything else. */
function parseNode(node: string): string | undefined {
  if (node.length > MAX_NODE) return undefined;
  if (net.isIPv4(node)) return node;
  const { v6, v4 } = NODE.exec(node)?.groups ?? {};
  // Brackets hold IPv6 only, and only IPv4 has a port without brackets.
  if (v6 !== undefined) return v6.includes(':') ? normalizeAddress(v6) : undefined;
  return normalizeAddress(v4 ?? node);
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
/** An IPv6 address in its longest form, brackets and a port. */
const MAX_NODE = 64;
/** The port may be hidden (RFC 7239 §6.2). */
const NODE = /^(?:\[(?<v6>[^\]]*)\]|(?<v4>[\d.]+))(?::(?:\d{1,5}|_[\w.-]+))?$/;
/** One pair, which may be missing, up to the next semicolon or the end (RFC 7239 §4). */
const PAIR =
  /[ \t]*(?:(?<name>[\w!#$%&'*+.^`|~-]+)=(?:(?<token>[\w!#$%&'*+.^`|~-]+)|"(?<quoted>(?:[^"\\]|\\.)*)")[ \t]*)?(?:;|$)/y;
