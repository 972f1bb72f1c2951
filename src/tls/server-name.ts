import net from 'node:net';

/** The name in the certificate of `host`: without the dot of the DNS root, which no certificate has. */
export function certificateName(host: string): string {
  return host.replace(/\.$/, '');
}

/** The name to send in a handshake, of a URL's host; empty, which sends none, for an IP address (RFC 6066 §3). */
export function indicatedName(host: string): string {
  const name = certificateName(host.replace(/^\[|\]$/g, ''));
  return net.isIP(name) === 0 ? name : '';
}
