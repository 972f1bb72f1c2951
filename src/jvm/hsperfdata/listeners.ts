/** Finds the sockets that listen on the upstream's port, from /proc/net/tcp and tcp6. */
import { isIP } from 'node:net';
import { endianness, hostname, networkInterfaces } from 'node:os';
import { piecesAside } from './processes.ts';
import { SEARCH_LIMITS, type SearchBounds } from './search-bounds.ts';

export interface Listener {
  readonly inode: string;
  readonly uid: number;
}

const LISTEN = '0A';
const ANY = new Set(['0.0.0.0', '0:0:0:0:0:0:0:0']);

/**
 * The listening sockets that a connection to `host`:`port` can reach. Undefined if the host is not this machine (or
 * this pod), since its port then says nothing about the processes here.
 */
export async function findListeners(
  procPath: string,
  host: string,
  port: number,
  bounds: SearchBounds,
): Promise<Listener[] | undefined> {
  const addresses = localAddressesOf(host);
  if (addresses === undefined) return undefined;
  const wanted = new Set(addresses.map(normalised));
  const exact: Listener[] = [];
  const any: Listener[] = [];
  for (const table of ['tcp', 'tcp6']) {
    for (const { address, port: localPort, listener } of await readTable(`${procPath}/net/${table}`, bounds)) {
      if (localPort !== port) continue;
      if (wanted.has(address)) exact.push(listener);
      else if (ANY.has(address)) any.push(listener);
    }
  }
  // The kernel also prefers the socket that is bound to the exact address.
  return exact.length > 0 ? exact : any;
}

async function readTable(
  path: string,
  bounds: SearchBounds,
): Promise<{ address: string; port: number; listener: Listener }[]> {
  const found = [];
  for (const line of await readListening(path, bounds)) {
    const [, local, , , , , , uid, , inode] = line.trim().split(/\s+/);
    if (local === undefined || inode === undefined) continue;
    const [hexAddress = '', hexPort = ''] = local.split(':');
    const listener = { inode, uid: Number(uid) };
    found.push({ address: toAddress(hexAddress), port: Number.parseInt(hexPort, 16), listener });
  }
  return found;
}

/**
 * The lines of listening sockets; they come first. Stops at the first other line: a proxy has many connections, and the
 * kernel takes 30 ms to print 10,000 of them. It scans its whole table in any case, which takes 2 to 4 ms.
 */
async function readListening(path: string, bounds: SearchBounds): Promise<string[]> {
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
function toAddress(hex: string): string {
  const bytes = Buffer.from(hex, 'hex');
  if (endianness() === 'LE') bytes.swap32();
  if (bytes.length === 4) return bytes.join('.');
  const isMapped = bytes.subarray(0, 10).every((byte) => byte === 0) && bytes.readUInt16BE(10) === 0xffff;
  if (isMapped) return bytes.subarray(12).join('.');
  return Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16)).join(':');
}

/** Removes brackets and zone; writes IPv6 out in full, e.g. `0:0:0:0:0:0:0:1`. */
function normalised(address: string): string {
  if (isIP(address) !== 6) return address;
  // The URL parser knows every notation; its result has at most one `::`.
  const short = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [head = '', tail] = short.split('::');
  const words = (part: string) => (part === '' ? [] : part.split(':'));
  if (tail === undefined) return short;
  const missing = 8 - words(head).length - words(tail).length;
  return [...words(head), ...Array.from({ length: missing }, () => '0'), ...words(tail)].join(':');
}

function localAddressesOf(host: string): string[] | undefined {
  const bare = host.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, '');
  if (bare === 'localhost' || bare.endsWith('.localhost')) return ['127.0.0.1', '::1'];
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses?.map(({ address }) => address) ?? []);
  const ownNormalised = own.map((address) => normalised(address.replace(/%.*$/, '')));
  if (bare === hostname()) return ['127.0.0.1', '::1', '127.0.1.1', ...ownNormalised];
  if (isIP(bare) === 0) return undefined;
  return bare.startsWith('127.') || ownNormalised.includes(normalised(bare)) ? [bare] : undefined;
}
