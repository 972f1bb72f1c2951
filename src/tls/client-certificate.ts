import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';

/** The identity in a verified client certificate. */
export interface ClientCertificate {
  /** Common name of the subject, exactly as the CA wrote it, e.g. `historian`. */
  readonly user: string;
  /** Issuer and subject; a renewed certificate keeps both. */
  readonly subject: string;
}

/** Longer chains are cut: real ones have two or three certificates. */
const MAX_CHAIN = 10;

/**
 * The client's verified certificate in DER, then those of its CAs without the root; empty without one. A session
 * resumed from a ticket has only the client's certificate.
 */
export function certificateChainOf(socket: TLSSocket): readonly Buffer[] {
  const chain: Buffer[] = [];
  if (!socket.authorized) return chain;
  for (let next = socket.getPeerX509Certificate(); next !== undefined && chain.length < MAX_CHAIN; ) {
    const issuer: X509Certificate | undefined = next.issuerCertificate;
    const isRoot = next.issuer === next.subject;
    if (chain.length === 0 || !isRoot) chain.push(next.raw);
    next = isRoot ? undefined : issuer;
  }
  return chain;
}

/**
 * The client's certificate, if it chains to a CA in `clientCaFile`. Undefined without one, and for a subject
 * without exactly one common name.
 */
export function clientCertificateOf(socket: TLSSocket): ClientCertificate | undefined {
  // A session resumed without a certificate is also authorized, so the certificate itself is checked below.
  if (!socket.authorized) return undefined;
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return undefined;
  const user: unknown = certificate.toLegacyObject().subject.CN;
  if (typeof user !== 'string' || user === '') return undefined;
  return { user, subject: `${certificate.issuer}\n\n${certificate.subject}` };
}
