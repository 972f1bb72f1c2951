/** Addresses: their form on the command line, and which of them only this machine can reach. */
import net from 'node:net';

/** For messages: what every key that takes a host expects. */
export const HOST_EXAMPLES = 'smartweb.plant.example, 127.0.0.1 or ::1';

const MAX_NAME = 253;
/** RFC 1123 §2.1: letters, digits and hyphens, at most 63, no hyphen at either end. */
const LABEL = /^(?!-)[A-Za-z0-9-]{1,63}(?<!-)$/;

/**
 * Whether `text` is an IP address or a host name (RFC 1123 §2.1), without brackets and port. Placeholders are
 * refused: `${HOST}`, `<host>`, `CHANGE_ME`, `a..example`. A name may end with the dot of the DNS root.
 */
export function isHost(text: string): boolean {
  if (net.isIP(text) !== 0) return true;
  const labels = text.replace(/\.$/, '').split('.');
  // A name whose last label is a number is meant as an address, and is none.
  const isNumber = /^(?:\d+|0x[\da-f]*)$/i.test(labels.at(-1) ?? '');
  return !isNumber && text.length <= MAX_NAME && labels.every((label) => LABEL.test(label));
}

/**
 * Whether the host of `text`, e.g. `http://plant:8080/a`, is one. `url` is its parsed form, which also has names of
 * other alphabets in ASCII. It would silently read `010.0.0.1` as 8.0.0.1, and `1e3.1` or `127.1` as addresses.
 */
export function hasHost(text: string, url: URL): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const written = /^[^/]*\/\/([^/:?#]*)/.exec(text)?.[1];
  return isHost(host) && (net.isIPv4(host) ? written === host : true);
}

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** A listening socket that the process was started with. Its address takes the place of the configured one. */
export interface GivenSocket {
  readonly section: 'listen' | 'monitor';
  readonly fd: number;
  readonly address: HostPort;
}

export const MAX_PORT = 65_535;

export const HOST_PORT_FORMS = 'host:port, :port, [v6]:port or a port from 0 to 65535';

const LOOPBACK = new net.BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

export const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** `host` is absent if only the port was written, e.g. `:8081` or `8081`. Undefined for any other text. */
export function parseHostPort(text: string): { readonly host?: string; readonly port: number } | undefined {
  // An IPv6 address needs brackets: in ::1:8081 it is ambiguous where the address ends.
  const match = /^(?:(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/@]*)):)?(\d{1,5})$/.exec(text);
  if (match === null) return undefined;
  const [, v6, name] = match;
  const port = Number(match[3]);
  if (port > MAX_PORT || (v6 !== undefined && !net.isIPv6(v6))) return undefined;
  const host = v6 ?? name;
  if (host === undefined || host === '') return { port };
  return isHost(host) ? { host, port } : undefined;
}

/** `127.0.0.1:8081`, `[::1]:8081`. */
export function formatHostPort({ host, port }: HostPort): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Whether only this machine can connect to a listener on `host`. A name other than localhost counts as reachable. */
export function isLoopback(host: string): boolean {
  const family = net.isIP(host);
  if (family === 0) return isLocalhost(host);
  return LOOPBACK.check(host, family === 6 ? 'ipv6' : 'ipv4');
}

/** Whether a listener on `listener` would accept a connection to `address`, as far as that is known without DNS. */
export function isServedBy(address: HostPort, listener: HostPort): boolean {
  if (listener.port === 0 || listener.port !== address.port) return false;
  const host = resolveLocalhost(address.host);
  return (
    host === resolveLocalhost(listener.host) ||
    (WILDCARDS.has(listener.host) && (isLoopback(host) || WILDCARDS.has(host)))
  );
}

/** Whether a socket on `address` listens where `written` says: on any port if that is 0, on any address for a wildcard. */
export function isWithin(
  address: HostPort,
  { host, port }: { readonly host: string | undefined; readonly port: number },
): boolean {
  if (port !== 0 && port !== address.port) return false;
  return host === undefined || WILDCARDS.has(host) || resolveLocalhost(host) === address.host;
}

export function isSamePlace(one: HostPort, other: HostPort): boolean {
  if (one.port === 0 || one.port !== other.port) return false;
  const hosts = [resolveLocalhost(one.host), resolveLocalhost(other.host)];
  return hosts[0] === hosts[1] || hosts.some((host) => WILDCARDS.has(host));
}

/** The dot is that of the DNS root. */
function isLocalhost(host: string): boolean {
  return /^localhost\.?$/i.test(host);
}

function resolveLocalhost(host: string): string {
  return isLocalhost(host) ? '127.0.0.1' : host;
}
