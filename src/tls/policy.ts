/**
 * What TLS is spoken here, at the listeners and to the upstream: versions 1.2 and 1.3 (RFC 9325 §3.1), with forward secrecy and
 * authenticated encryption only (RFC 9325 §4.2). Less than Node's own defaults, which still have CBC and static RSA.
 */
import { constants } from 'node:crypto';
import type { SecureContextOptions } from 'node:tls';

/** OpenSSL's names. The first three are of TLS 1.3, the others of 1.2; one of each pair is for each kind of key. */
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

/** Nothing here speaks HTTP/2: a client that only offers that is refused in the handshake (RFC 7301 §3.2). */
export const ALPN_PROTOCOLS: readonly string[] = ['http/1.1'];

/** To be set again with each new certificate: a context that is replaced takes nothing of the old one along. */
export const TLS_POLICY = {
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.3',
  ciphers: CIPHERS.join(':'),
  // A renegotiation costs the server ten times what it costs the client; TLS 1.3 has none, and HTTP needs none.
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} as const satisfies SecureContextOptions;
