/**
 * TLS for listeners and upstream: policy, certificate files, client certificates. It secures connections and knows
 * nothing of the requests on them. The policy is TLS 1.2 and 1.3 (RFC 9325 §3.1), with forward secrecy and
 * authenticated encryption only (RFC 9325 §4.2). It is stricter than Node's defaults, which allow CBC and static RSA.
 */
import { constants } from 'node:crypto';
import net from 'node:net';
import type { SecureContextOptions } from 'node:tls';

/** OpenSSL's names. The first three are for TLS 1.3, the rest for 1.2, one for each key type (ECDSA, RSA). */
export const CIPHERS: readonly string[] = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
];

/** No listener speaks HTTP/2: the handshake refuses a client that offers nothing but h2 (RFC 7301 §3.2). */
export const ALPN_PROTOCOLS: readonly string[] = ['http/1.1'];

/** Pass it with every new certificate: a new secure context inherits nothing from the one that it replaces. */
export const TLS_POLICY = {
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.3',
  ciphers: CIPHERS.join(':'),
  // A renegotiation costs the server ten times as much as the client. TLS 1.3 has none, and HTTP needs none.
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} as const satisfies SecureContextOptions;

/** The name in the certificate of `host`: without the dot of the DNS root, which no certificate has. */
export function certificateName(host: string): string {
  return host.replace(/\.$/, '');
}

/** The name to send in a handshake, of a URL's host; empty, which sends none, for an IP address (RFC 6066 §3). */
export function indicatedName(host: string): string {
  const name = certificateName(host.replace(/^\[|\]$/g, ''));
  return net.isIP(name) === 0 ? name : '';
}
