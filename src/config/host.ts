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
