/**
 * TLS for listeners and upstream: policy, certificate files, client certificates. It secures connections and knows
 * nothing of the requests on them. The policy is TLS 1.2 and 1.3 (RFC 9325 §3.1), with forward secrecy and
 * authenticated encryption only (RFC 9325 §4.2). It is stricter than Node's defaults, which allow CBC and static RSA.
 */
import { constants } from 'node:crypto';
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
