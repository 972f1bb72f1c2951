/** Why TLS with a server failed, as kinds that an operator can act on. Reasons are codes of Node.js and OpenSSL. */

export interface TlsFault {
  readonly kind: TlsFaultKind;
  /** E.g. `its certificate has expired`; the subject is the server. */
  readonly text: string;
  /** Where to look, e.g. `upstream.tls.caFile`. */
  readonly see: string;
}

type Kind = Omit<TlsFault, 'kind'> & { readonly reasons: RegExp };

/** The first whose `reasons` match. Newer versions of OpenSSL write `SSL/TLS_ALERT_...` for `SSLV3_ALERT_...`. */
const KINDS = {
  expired: { text: 'its certificate has expired', see: 'the server', reasons: /^CERT_HAS_EXPIRED$/ },
  'not-yet-valid': {
    text: 'its certificate is not valid yet, or the clock here is wrong',
    see: 'the server, and the clock of this machine',
    reasons: /^CERT_NOT_YET_VALID$/,
  },
  'other-name': {
    text: 'its certificate is for another name',
    see: 'upstream.tls.serverName',
    reasons: /^(ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH|ERR_SSL_\w*UNRECOGNIZED_NAME)$/,
  },
  'not-for-servers': {
    text: 'its certificate is not one for servers',
    see: 'the server',
    reasons: /^INVALID_PURPOSE$/,
  },
  untrusted: {
    text: 'its certificate is not signed by a trusted authority',
    see: 'upstream.tls.caFile',
    reasons:
      /^(UNABLE_TO_\w+|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|CERT_(UNTRUSTED|REJECTED|REVOKED|CHAIN_TOO_LONG|SIGNATURE_FAILURE)|INVALID_CA|PATH_LENGTH_EXCEEDED)$/,
  },
  'no-tls': {
    text: 'there is no TLS on that port',
    see: 'upstream.url, https or http',
    reasons: /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|RECORD_TOO_SMALL|BAD_RECORD_TYPE)$/,
  },
  'tls-expected': {
    text: 'that port expects TLS, but upstream.url begins with http:',
    see: 'upstream.url, https or http',
    reasons: /^TLS_EXPECTED$/,
  },
  'client-certificate': {
    text: 'it wants a client certificate, or rejects ours',
    see: 'upstream.tls.certFile',
    reasons:
      /^ERR_SSL_[\w/]*ALERT_(CERTIFICATE_\w+|BAD_CERTIFICATE|NO_CERTIFICATE|UNKNOWN_CA|UNSUPPORTED_CERTIFICATE|ACCESS_DENIED)$/,
  },
  refused: {
    text: 'it refuses the handshake: no cipher in common, or it wants a client certificate',
    see: 'docs/tls.md, upstream.tls.certFile',
    reasons: /^ERR_SSL_[\w/]*ALERT_HANDSHAKE_FAILURE$/,
  },
  protocol: {
    text: 'it speaks no version or cipher of TLS that is allowed here',
    see: 'docs/tls.md',
    reasons:
      /^ERR_SSL_[\w/]*(PROTOCOL|NO_SHARED_CIPHER|NO_CIPHERS|WRONG_CIPHER|INSUFFICIENT_SECURITY|KEY_TOO_SMALL|UNSUPPORTED|SIGNATURE_TYPE)/,
  },
  'broken-off': { text: 'it breaks off the handshake', see: 'its log', reasons: /^E(?!PROTO$)[A-Z]+$/ },
  other: { text: 'the handshake fails', see: 'docs/tls.md', reasons: /^/ },
} as const satisfies Readonly<Record<string, Kind>>;

export type TlsFaultKind = keyof typeof KINDS;

/** `reason`: e.g. `CERT_HAS_EXPIRED`, as `tlsReasonOf` gives it. */
export function describeTlsFault(reason: string): TlsFault {
  const kinds = Object.entries(KINDS) as [TlsFaultKind, Kind][];
  const [kind, { text, see }] = kinds.find(([, { reasons }]) => reasons.test(reason)) as [TlsFaultKind, Kind];
  return { kind, text, see };
}
