import net from 'node:net';
import ipaddr from 'ipaddr.js';

const MAPPED_IPV4 = /^::ffff:(?=\d{1,3}(?:\.\d{1,3}){3}$)/i;

/** A listener on `::` reports IPv4 clients as `::ffff:10.0.0.7`: this returns `10.0.0.7`, and other addresses as is. */
export function withoutMapping(address: string): string {
  return address.replace(MAPPED_IPV4, '');
}

/**
 * The canonical form of an address that a peer sent: `2001:DB8:0::1` is `2001:db8::1`, `::ffff:1.2.3.4` is `1.2.3.4`.
 * Undefined for anything else: names, ports, zones, and IPv4 other than four decimal numbers.
 */
export function toPlainAddress(text: string): string | undefined {
  if (net.isIPv4(text)) return text;
  if (!net.isIPv6(text) || text.includes('%')) return undefined;
  return parse(text).toString();
}

/** Loopback, link-local, RFC 1918, RFC 4193 and RFC 6598: never the address of a client on the Internet. */
export function isPrivate(address: string): boolean {
  return net.isIP(address) !== 0 && PRIVATE_RANGES.has(parse(address).range());
}

const PRIVATE_RANGES: ReadonlySet<string> = new Set([
  ...['loopback', 'linkLocal', 'private', 'uniqueLocal', 'carrierGradeNat'],
]);

type Range = [address: ipaddr.IPv4 | ipaddr.IPv6, bits: number];

/** Addresses of IPv4 as numbers: a head may list thousands, and the library takes ten times as long. */
type Ipv4Range = [network: number, size: number];

/** Addresses and CIDRs, e.g. `['10.0.0.0/8', '::1']`. An IPv4 range also contains its addresses mapped into IPv6. */
export class AddressRanges {
  readonly #ranges: readonly Range[];
  readonly #ipv4: readonly Ipv4Range[];

  /** Throws TypeError for a text that `isRange` refuses. */
  constructor(texts: readonly string[]) {
    this.#ranges = texts.map((text) => {
      const range = toRange(text);
      if (range === undefined) throw new TypeError(`neither an address nor a CIDR: ${text}`);
      return range;
    });
    this.#ipv4 = this.#ranges.flatMap(([address, bits]): Ipv4Range[] =>
      address.kind() === 'ipv4'
        ? [[Math.floor(toNumber(address.toString()) / 2 ** (32 - bits)), 2 ** (32 - bits)]]
        : [],
    );
  }

  static isRange(text: string): boolean {
    return toRange(text) !== undefined;
  }

  /** Ignores a zone of `address`. False if it is not an address. */
  has(address: string): boolean {
    if (this.#ranges.length === 0) return false;
    if (net.isIPv4(address)) {
      const own = toNumber(address);
      return this.#ipv4.some(([network, size]) => Math.floor(own / size) === network);
    }
    if (!net.isIPv6(address)) return false;
    const own = parse(address);
    return this.#ranges.some(([range, bits]) => own.kind() === range.kind() && own.match(range, bits));
  }
}

/** `10.0.0.7` as 0x0a000007. */
function toNumber(ipv4: string): number {
  let [number, part] = [0, 0];
  for (let at = 0; at <= ipv4.length; at += 1) {
    const digit = at < ipv4.length ? ipv4.charCodeAt(at) - 0x30 : -1;
    if (digit >= 0) {
      part = part * 10 + digit;
      continue;
    }
    number = number * 256 + part;
    part = 0;
  }
  return number;
}

function toRange(text: string): Range | undefined {
  const [, address = '', written] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  if (toPlainAddress(address) === undefined) return undefined;
  const own = parse(address);
  // The first 96 bits of a mapped address are those of the mapping.
  const mappingBits = own.kind() === 'ipv4' && net.isIPv6(address) ? 96 : 0;
  const length = own.kind() === 'ipv4' ? 32 : 128;
  const bits = written === undefined ? length : Number(written) - mappingBits;
  return bits >= 0 && bits <= length ? [own, bits] : undefined;
}

/** `address` is one that Node accepts. Drops a zone, and converts IPv4 mapped into IPv6 to IPv4. */
function parse(address: string): ipaddr.IPv4 | ipaddr.IPv6 {
  const [plain = ''] = address.split('%');
  if (net.isIPv4(plain)) return ipaddr.parse(plain);
  // The library reads the obsolete ::1.2.3.4 as ::ffff:1.2.3.4. The URL turns it into hexadecimal groups.
  return ipaddr.process(plain.includes('.') ? new URL(`http://[${plain}]`).hostname.slice(1, -1) : plain);
}
