/** Why TLS with a server failed, as kinds that an operator can act on. Reasons are codes of Node.js and OpenSSL. */

export type TlsFaultKind =
  | 'expired'
  | 'not-yet-valid'
  | 'untrusted'
  | 'other-name'
  | 'no-tls'
  | 'protocol'
  | 'client-certificate'
  | 'broken-off'
  | 'other';

export interface TlsFault {
  readonly kind: TlsFaultKind;
  /** E.g. `its certificate has expired`; the subject is the server. */
  readonly text: string;
}

const KINDS: Readonly<Record<TlsFaultKind, { readonly text: string; readonly reasons: RegExp }>> = {
  expired: { text: 'its certificate has expired', reasons: /^CERT_HAS_EXPIRED$/ },
  'not-yet-valid': {
    text: 'its certificate is not valid yet, or the clock here is wrong',
    reasons: /^CERT_NOT_YET_VALID$/,
  },
  'other-name': {
    text: 'its certificate is for another name (upstream.tls.serverName)',
    reasons: /^ERR_TLS_CERT_ALTNAME_INVALID$/,
  },
  untrusted: {
    text: 'its certificate is not signed by a trusted authority (upstream.tls.caFile)',
    reasons:
      /^(UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|CERT_(UNTRUSTED|REJECTED|CHAIN_TOO_LONG)|INVALID_(CA|PURPOSE))/,
  },
  'no-tls': {
    text: 'there is no TLS on that port (upstream.url with http)',
    reasons: /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|RECORD_TOO_SMALL|BAD_RECORD_TYPE)$/,
  },
  'client-certificate': {
    text: 'it wants a client certificate, or rejects ours (upstream.tls.certFile)',
    reasons:
      /^ERR_SSL_\w*ALERT_(CERTIFICATE_REQUIRED|BAD_CERTIFICATE|CERTIFICATE_|UNKNOWN_CA|UNSUPPORTED_CERTIFICATE|ACCESS_DENIED)/,
  },
  protocol: {
    text: 'it speaks no version or cipher of TLS that is allowed here (docs/tls.md)',
    reasons:
      /^ERR_SSL_\w*(PROTOCOL|HANDSHAKE_FAILURE|NO_SHARED_CIPHER|NO_CIPHERS|INSUFFICIENT_SECURITY|KEY_TOO_SMALL|UNSUPPORTED)/,
  },
  'broken-off': { text: 'it breaks off the TLS handshake', reasons: /^E[A-Z]+$/ },
  other: { text: 'the TLS handshake with it fails', reasons: /^/ },
};

/** `reason`: e.g. `CERT_HAS_EXPIRED`, as `tlsReasonOf` gives it. */
export function describeTlsFault(reason: string): TlsFault {
  for (const [kind, { text, reasons }] of Object.entries(KINDS)) {
    if (reasons.test(reason)) return { kind: kind as TlsFaultKind, text };
  }
  return { kind: 'other', text: KINDS.other.text };
}
