import net from 'node:net';
import { withoutMapping } from '../base/address.ts';

/** The key of a shared count: an IPv4 address, also written as IPv6, or the /64 from which one IPv6 host may choose. */
export function addressKeyOf(address: string): string {
  const v4 = withoutMapping(address);
  if (net.isIPv4(v4)) return v4;
  if (!net.isIPv6(address)) return 'unknown';
  const [plain = ''] = address.split('%');
  const [front = '', back] = plain.split('::');
  const groups = front === '' ? [] : front.split(':');
  const backLength = back === undefined || back === '' ? 0 : back.split(':').length;
  const zeros = back === undefined ? 0 : Math.max(0, 8 - groups.length - backLength);
  const all = [...groups, ...Array<string>(zeros).fill('0'), ...(back ?? '').split(':')];
  return all
    .slice(0, 4)
    .map((group) => Number.parseInt(group || '0', 16).toString(16))
    .join(':');
}
