/** The fields of `forwarded.clientCertificate`: those of Tomcat's SSLValve, or those of RFC 9440. */
import type { Config } from '../../config/config.ts';

export type CertificateMode = Config['clientCertificate'];

export type Fields = readonly (readonly [name: string, value: string])[];

/** A client as seen in its TLS handshake. */
interface TlsClient {
  /** Its verified certificate in DER, then its chain without the root; empty without a certificate. */
  readonly certificates: readonly Buffer[];
  /** The standard name, e.g. `TLS_AES_256_GCM_SHA384`. */
  readonly cipher: string;
}

/** A client's own are removed. The valve prefers `ssl_client_escaped_cert` to `ssl_client_cert`, and reads all six. */
export const CERTIFICATE_FIELDS: Readonly<Record<CertificateMode, readonly string[]>> = {
  off: [],
  tomcat: [
    'ssl_client_cert',
    'ssl_client_escaped_cert',
    'ssl_client_verify',
    'ssl_cipher',
    'ssl_cipher_usekeysize',
    'ssl_session_id',
  ],
  rfc9440: ['client-cert', 'client-cert-chain'],
};

export function certificateFields(mode: CertificateMode, { certificates, cipher }: TlsClient): Fields {
  const [own, ...authorities] = certificates;
  if (mode === 'off') return [];
  if (mode === 'tomcat') {
    const fields: Fields = [
      ['ssl_client_verify', own === undefined ? 'NONE' : 'SUCCESS'],
      ['ssl_cipher', cipher],
      ['ssl_cipher_usekeysize', /_128_/.test(cipher) ? '128' : '256'],
    ];
    if (own === undefined) return fields;
    // The valve turns the blanks into the line breaks of PEM.
    const pem = `-----BEGIN CERTIFICATE----- ${own.toString('base64')} -----END CERTIFICATE-----`;
    return [['ssl_client_cert', pem], ...fields];
  }
  if (own === undefined) return [];
  const fields: Fields = [['Client-Cert', formatByteSequence(own)]];
  return authorities.length === 0
    ? fields
    : [...fields, ['Client-Cert-Chain', authorities.map(formatByteSequence).join(', ')]];
}

/** RFC 8941 §3.3.5. */
function formatByteSequence(der: Buffer): string {
  return `:${der.toString('base64')}:`;
}
