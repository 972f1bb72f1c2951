import net from 'node:net';
import ipaddr from 'ipaddr.js';
import { withoutMapping } from '../base/address.ts';

/** The key of a shared count: an IPv4 address, also written as IPv6, or the /64 from which one IPv6 host may choose. */
export function addressKeyOf(address: string): string {
  const v4 = withoutMapping(address);
  if (net.isIPv4(v4)) return v4;
  if (!net.isIPv6(address)) return 'unknown';
  const [plain = ''] = address.split('%');
  const groups = ipaddr.IPv6.parse(plain).parts.slice(0, 4);
  return groups.map((group) => group.toString(16)).join(':');
}
