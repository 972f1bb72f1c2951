/**
 * The header of the PROXY protocol, versions 1 (text) and 2 (binary), which load balancers send before a connection's
 * first byte (haproxy.org, proxy-protocol.txt).
 */
import net from 'node:net';
import { normalizeAddress } from '../base/address.ts';

export type ProxyHeader =
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'broken' }
  /** `source` is undefined where the proxy speaks for itself (LOCAL) or does not know its client (UNKNOWN). */
  | { readonly kind: 'read'; readonly bytes: number; readonly source: ProxySource | undefined };

export interface ProxySource {
  readonly address: string;
  readonly port: number;
}

const INCOMPLETE: ProxyHeader = { kind: 'incomplete' };
const MISSING: ProxyHeader = { kind: 'missing' };
const BROKEN: ProxyHeader = { kind: 'broken' };

const TEXT_START = Buffer.from('PROXY ');
/** Longest header of version 1, with its CRLF. */
const MAX_TEXT_BYTES = 107;
const BINARY_START = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
/** Signature, version and command, family and protocol, length. */
const BINARY_FIXED_BYTES = 16;
/** Addresses and additional fields (TLV). Load balancers send some hundred bytes. */
const MAX_BINARY_BYTES = 4_096;

/** `bytes`: everything received so far, from the first byte of the connection. */
export function readProxyHeader(bytes: Buffer): ProxyHeader {
  if (beginsLike(bytes, TEXT_START)) return bytes.length < TEXT_START.length ? INCOMPLETE : readText(bytes);
  if (beginsLike(bytes, BINARY_START)) return bytes.length < BINARY_FIXED_BYTES ? INCOMPLETE : readBinary(bytes);
  return MISSING;
}

function beginsLike(bytes: Buffer, start: Buffer): boolean {
  const length = Math.min(bytes.length, start.length);
  return bytes.compare(start, 0, length, 0, length) === 0;
}

function readText(bytes: Buffer): ProxyHeader {
  const end = bytes.subarray(0, MAX_TEXT_BYTES).indexOf('\r\n');
  if (end < 0) return bytes.length < MAX_TEXT_BYTES ? INCOMPLETE : BROKEN;
  const line = bytes.toString('latin1', 0, end);
  const length = end + 2;
  if (/^PROXY UNKNOWN(?: |$)/.test(line)) return { kind: 'read', bytes: length, source: undefined };
  const [, family = '', from = '', to = '', port = '', toPort = ''] =
    /^PROXY TCP([46]) (\S+) (\S+) (\d+) (\d+)$/.exec(line) ?? [];
  const isAddress = family === '4' ? net.isIPv4 : net.isIPv6;
  const address = normalizeAddress(from);
  if (!isAddress(from) || !isAddress(to) || !isPort(port) || !isPort(toPort) || address === undefined) return BROKEN;
  return { kind: 'read', bytes: length, source: { address, port: Number(port) } };
}

function isPort(text: string): boolean {
  return /^(?:0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535;
}

function readBinary(bytes: Buffer): ProxyHeader {
  const [version, command] = nibbles(bytes.readUInt8(12));
  const [family, transport] = nibbles(bytes.readUInt8(13));
  const length = BINARY_FIXED_BYTES + bytes.readUInt16BE(14);
  const isKnown = version === 2 && command <= 1 && family in ADDRESS_BYTES && transport <= 2;
  if (!isKnown || length > MAX_BINARY_BYTES) return BROKEN;
  const addressBytes = command === 0 ? undefined : ADDRESS_BYTES[family];
  // A connection is a stream, so a header for datagrams is broken.
  if (addressBytes !== undefined && (transport === 2 || length < BINARY_FIXED_BYTES + 2 * addressBytes + 4))
    return BROKEN;
  if (bytes.length < length) return INCOMPLETE;
  if (addressBytes === undefined) return { kind: 'read', bytes: length, source: undefined };
  const from = bytes.subarray(BINARY_FIXED_BYTES, BINARY_FIXED_BYTES + addressBytes);
  const port = bytes.readUInt16BE(BINARY_FIXED_BYTES + 2 * addressBytes);
  const text = family === 1 ? from.join('.') : (from.toString('hex').match(/.{4}/g) ?? []).join(':');
  return { kind: 'read', bytes: length, source: { address: normalizeAddress(text) ?? '', port } };
}

/** Bytes of an address by family: unspecified, IPv4, IPv6, Unix. Undefined: no usable address. */
const ADDRESS_BYTES: readonly (number | undefined)[] = [undefined, 4, 16, undefined];

function nibbles(byte: number): [number, number] {
  return [byte >> 4, byte & 0x0f];
}
