/** Finds the sockets that listen on the upstream's port, from /proc/net/tcp and tcp6. */
import { endianness, hostname, networkInterfaces } from 'node:os';
import { normalizeAddress } from '../../base/address.ts';
import { piecesAside } from './processes.ts';
import { SEARCH_LIMITS, type SearchContext } from './search-bounds.ts';

export interface Listener {
  readonly inode: string;
  readonly uid: number;
}

const LISTEN = '0A';
export const ANY = new Set(['0.0.0.0', '::']);

/**
 * The listening sockets that a connection to `host`:`port` can reach. Undefined if the host is not this machine (or
 * this pod), since its port then says nothing about the processes here.
 */
export async function findListeners(
  { procPath, bounds }: Pick<SearchContext, 'procPath' | 'bounds'>,
  host: string,
  port: number,
): Promise<Listener[] | undefined> {
  const addresses = localAddressesOf(host);
  if (addresses === undefined) return undefined;
  const exact: Listener[] = [];
  const any: Listener[] = [];
  for (const table of ['tcp', 'tcp6']) {
    for (const line of await readListening(`${procPath}/net/${table}`, bounds)) {
      const [, local = '', , , , , , uid, , inode] = line.trim().split(/\s+/);
      const [hexAddress = '', hexPort = ''] = local.split(':');
      if (inode === undefined || Number.parseInt(hexPort, 16) !== port) continue;
      const address = parseAddress(hexAddress);
      const listener = { inode, uid: Number(uid) };
      if (addresses.includes(address)) exact.push(listener);
      else if (ANY.has(address)) any.push(listener);
    }
  }
  // The kernel also prefers the socket that is bound to the exact address.
  return exact.length > 0 ? exact : any;
}

/**
 * The lines of listening sockets; they come first. Stops at the first other line: a proxy has many connections, and the
 * kernel takes 30 ms to print 10,000 of them. It scans its whole table in any case, which takes 2 to 4 ms.
 */
async function readListening(path: string, bounds: SearchContext['bounds']): Promise<string[]> {
  const lines: string[] = [];
  let rest = '';
  let isHeading = true;
  try {
    for await (const piece of piecesAside(path, SEARCH_LIMITS.socketTableBytes, () => bounds.hit('socketTableBytes'))) {
      const whole = (rest + piece).split('\n');
      rest = whole.pop() ?? '';
      const found = isHeading ? whole.slice(1) : whole;
      isHeading &&= whole.length === 0;
      const end = found.findIndex((line) => !isListening(line));
      lines.push(...(end === -1 ? found : found.slice(0, end)));
      if (end !== -1) break;
    }
  } catch {
    // No IPv6, or no /proc: unknown. Lines read before the error are kept.
  }
  return lines;
}

function isListening(line: string): boolean {
  return line.trim().split(/\s+/)[3] === LISTEN;
}

/** `0100007F` is 127.0.0.1 on a little-endian machine: each word of 4 bytes is printed as a number. */
function parseAddress(hex: string): string {
  const bytes = Buffer.from(hex, 'hex');
  if (endianness() === 'LE') bytes.swap32();
  const isIpv4 = bytes.length === 4;
  return normalizeAddress(isIpv4 ? bytes.join('.') : (bytes.toString('hex').match(/.{4}/g) ?? []).join(':')) ?? '';
}

/** The addresses of this machine that `host` stands for, as `normalizeAddress` writes them; undefined if it is another machine. */
export function localAddressesOf(host: string): readonly string[] | undefined {
  const bare = host.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, '');
  if (bare === 'localhost' || bare.endsWith('.localhost')) return ['127.0.0.1', '::1'];
  const interfaces = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  const own = interfaces.flatMap(({ address }) => normalizeAddress(address.replace(/%.*$/, '')) ?? []);
  if (bare === hostname()) return ['127.0.0.1', '::1', '127.0.1.1', ...own];
  const address = normalizeAddress(bare);
  return address?.startsWith('127.') || (address && own.includes(address)) ? [address] : undefined;
}
