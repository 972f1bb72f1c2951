import type { TLSSocket } from 'node:tls';

/** Who a client is by the certificate that it has proved to own. */
export interface ClientCertificate {
  /** Common name of its subject, e.g. `historian`. As the authority wrote it. */
  readonly user: string;
  /** Issuer and subject, which stay the same when the certificate is renewed. */
  readonly subject: string;
}

/**
 * The certificate of a client, if one was presented and leads to an authority in `clientCaFile`. Undefined also for one whose
 * subject has no common name, or several: which of them would be meant is not ours to guess.
 */
export function clientCertificateOf(socket: TLSSocket): ClientCertificate | undefined {
  // Also true for a session that is resumed without a certificate: so this alone says nothing of who it is.
  if (!socket.authorized) return undefined;
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return undefined;
  const user: unknown = certificate.toLegacyObject().subject.CN;
  if (typeof user !== 'string' || user === '') return undefined;
  return { user, subject: `${certificate.issuer}\n\n${certificate.subject}` };
}
