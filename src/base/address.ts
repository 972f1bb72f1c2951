import net from 'node:net';
import ipaddr from 'ipaddr.js';

const DOT = 0x2e;
const DIGIT_0 = 0x30;
const MAPPED_IPV4 = /^::ffff:(?=\d{1,3}(?:\.\d{1,3}){3}$)/i;

/** A listener on `::` reports IPv4 clients as `::ffff:10.0.0.7`: this returns `10.0.0.7`, and other addresses as is. */
export function withoutMapping(address: string): string {
  return address.replace(MAPPED_IPV4, '');
}

/**
 * The canonical form of an address that a peer sent: `2001:DB8:0::1` is `2001:db8::1`, `::ffff:1.2.3.4` is `1.2.3.4`.
 * Undefined for anything else: names, ports, zones, and IPv4 other than four decimal numbers.
 */
export function normalizeAddress(text: string): string | undefined {
  if (net.isIPv4(text)) return text;
  if (!net.isIPv6(text) || text.includes('%')) return undefined;
  return parse(text).toString();
}

/** Loopback, link-local, RFC 1918, RFC 4193 and RFC 6598: never the address of a client on the Internet. */
export function isPrivate(address: string): boolean {
  return net.isIP(address) !== 0 && PRIVATE_RANGES.includes(parse(address).range());
}

const PRIVATE_RANGES: readonly string[] = ['loopback', 'linkLocal', 'private', 'uniqueLocal', 'carrierGradeNat'];

/** Addresses and CIDRs, e.g. `['10.0.0.0/8', '::1']`. An IPv4 range also contains its addresses mapped into IPv6. */
export class AddressRanges {
  readonly #ranges: readonly NonNullable<ReturnType<typeof parseRange>>[];
  /** Those of IPv4 as numbers: a head may list thousands of addresses, and the library takes ten times as long. */
  readonly #ipv4: readonly { readonly network: number; readonly size: number }[];

  /** Throws TypeError for a text that `isRange` refuses. */
  constructor(texts: readonly string[]) {
    this.#ranges = texts.map((text) => {
      const range = parseRange(text);
      if (range === undefined) throw new TypeError(`neither an address nor a CIDR: ${text}`);
      return range;
    });
    const ipv4 = this.#ranges.filter(({ address }) => address.kind() === 'ipv4');
    this.#ipv4 = ipv4.map(({ address, bits }) => {
      const size = 2 ** (32 - bits);
      return { network: Math.floor(parseIpv4(address.toString()) / size), size };
    });
  }

  static isRange(text: string): boolean {
    return parseRange(text) !== undefined;
  }

  /** Ignores a zone of `address`. False if it is not an address. */
  has(address: string): boolean {
    if (this.#ranges.length === 0) return false;
    if (net.isIPv4(address)) {
      const own = parseIpv4(address);
      return this.#ipv4.some(({ network, size }) => Math.floor(own / size) === network);
    }
    if (!net.isIPv6(address)) return false;
    const own = parse(address);
    return this.#ranges.some((range) => own.kind() === range.address.kind() && own.match(range.address, range.bits));
  }
}

/** `10.0.0.7` as 0x0a000007. Makes no strings. */
function parseIpv4(ipv4: string): number {
  let number = 0;
  let part = 0;
  for (let at = 0; at < ipv4.length; at += 1) {
    const code = ipv4.charCodeAt(at);
    if (code === DOT) {
      number = number * 256 + part;
      part = 0;
    } else {
      part = part * 10 + code - DIGIT_0;
    }
  }
  return number * 256 + part;
}

function parseRange(text: string) {
  const [, address = '', written] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  if (normalizeAddress(address) === undefined) return undefined;
  const own = parse(address);
  // The first 96 bits of a mapped address are those of the mapping.
  const mappingBits = own.kind() === 'ipv4' && net.isIPv6(address) ? 96 : 0;
  const length = own.kind() === 'ipv4' ? 32 : 128;
  const bits = written === undefined ? length : Number(written) - mappingBits;
  return bits >= 0 && bits <= length ? { address: own, bits } : undefined;
}

/** `address` is one that Node accepts. Drops a zone, and converts IPv4 mapped into IPv6 to IPv4. */
function parse(address: string): ipaddr.IPv4 | ipaddr.IPv6 {
  const [plain = ''] = address.split('%');
  if (net.isIPv4(plain)) return ipaddr.parse(plain);
  // The library reads the obsolete ::1.2.3.4 as ::ffff:1.2.3.4. The URL turns it into hexadecimal groups.
  return ipaddr.process(plain.includes('.') ? new URL(`http://[${plain}]`).hostname.slice(1, -1) : plain);
}
