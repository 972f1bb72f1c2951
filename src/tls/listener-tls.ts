/** TLS of one listener: the options of its server, its failed handshakes, and certificate changes at run time. */
import type { X509Certificate } from 'node:crypto';
import type { Server, TLSSocket, TlsOptions } from 'node:tls';
import { counter, type MetricDescription, ofEach, type Parts } from '../base/metric-description.ts';
import type { ListenerTlsConfig } from '../config/config.ts';
import { ALPN_PROTOCOLS } from './policy.ts';
import type { TlsFiles } from './tls-files.ts';
import { WatchedTls, type WatchedTlsNumbers, type WatchedTlsParts } from './watched-tls.ts';

/**
 * `failed`: all handshakes that failed, including those of the next two. `refused`: other ones of clients that had to
 * present a certificate, which was missing or not verified. `unverified`: clients that were treated as having no
 * certificate, because theirs could not be verified.
 */
type HandshakeNumbers = Readonly<Record<'failed' | 'timedOut' | 'refused' | 'unverified', number>>;

/** By OpenSSL's code. */
const UNVERIFIED: ReadonlyMap<string, string> = new Map([
  ['CERT_HAS_EXPIRED', 'it has expired'],
  ['CERT_NOT_YET_VALID', 'it is not valid yet'],
  ['CERT_REVOKED', 'it is revoked'],
  ['CERT_SIGNATURE_FAILURE', 'its signature is wrong'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'it is self-signed'],
  ['INVALID_PURPOSE', 'it is not for clients'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'its issuer is unknown'],
  ['UNABLE_TO_GET_ISSUER_CERT', 'its issuer is unknown'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'its issuer is unknown'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'its issuer is unknown'],
]);

const NO_CERTIFICATE = 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE';

export class ListenerTls {
  readonly #section: string;
  readonly #clientAuth: ListenerTlsConfig['clientAuth'];
  /** `files.trouble` says why the stand-in certificate is used. */
  readonly files: WatchedTls;
  readonly #logger: WatchedTlsParts['logger'];
  readonly #counts = { failed: 0, timedOut: 0, refused: 0, unverified: 0 };

  /** `section` names the listener in messages, e.g. `listen.tls`. Throws like `openFiles`. */
  static async open(
    section: string,
    config: ListenerTlsConfig,
    parts: WatchedTlsParts,
    openFiles = WatchedTls.open,
  ): Promise<ListenerTls> {
    return new ListenerTls(section, config, await openFiles(filesOf(section, config), parts), parts);
  }

  private constructor(section: string, config: ListenerTlsConfig, watched: WatchedTls, { logger }: WatchedTlsParts) {
    this.#section = section;
    this.#clientAuth = config.clientAuth;
    this.files = watched;
    this.#logger = logger;
  }

  get numbers(): HandshakeNumbers & WatchedTlsNumbers {
    return { ...this.#counts, ...this.files.numbers };
  }

  serverOptions(handshakeTimeoutMs: number): TlsOptions {
    return {
      ...this.files.material.options,
      ALPNProtocols: [...ALPN_PROTOCOLS],
      handshakeTimeout: handshakeTimeoutMs,
      requestCert: this.#clientAuth !== 'none',
      rejectUnauthorized: this.#clientAuth === 'require',
    };
  }

  /** Updates the certificates of `server`, made with `serverOptions`, and counts its failed handshakes. */
  attach(server: Server): void {
    this.files.onReplaced = (options) => server.setSecureContext(options);
    server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
      this.#counts.failed += 1;
      const refusal = error.code === NO_CERTIFICATE ? NO_CERTIFICATE : reasonOf(socket);
      if (error.code === 'ERR_TLS_HANDSHAKE_TIMEOUT') this.#counts.timedOut += 1;
      else if (refusal !== undefined) this.#counts.refused += 1;
      // Log codes only, at debug: anyone who reaches the port can cause failures of any kind.
      this.#logger.debug({ section: this.#section, reason: refusal ?? error.code }, 'a TLS handshake failed');
      // Node leaves the socket open.
      socket.destroy();
    });
  }

  /** Reads new files; `clientAuth` stays. The returned function applies them to new connections. Throws like `open`. */
  async prepareReload(config: ListenerTlsConfig): Promise<() => void> {
    return await this.files.prepareReload(filesOf(this.#section, config));
  }

  /** The client's identity from its certificate. Call once per connection: it counts unverified clients. */
  clientOf(socket: TLSSocket) {
    if (this.#clientAuth === 'none') return undefined;
    if (!socket.authorized && socket.getPeerX509Certificate() !== undefined) {
      this.#counts.unverified += 1;
      const reason = reasonOf(socket);
      this.#logger.debug(
        { section: this.#section, reason },
        `a client certificate was not verified: ${UNVERIFIED.get(reason ?? '') ?? 'it cannot be used'}`,
      );
    }
    return clientCertificateOf(socket);
  }
}

function filesOf(section: string, { clientCaFile, ...own }: ListenerTlsConfig): TlsFiles {
  return { ...own, section, caFile: clientCaFile, caKey: 'clientCaFile' };
}

/** E.g. `SELF_SIGNED_CERT_IN_CHAIN`; undefined if the certificate was not the reason. Node's types say Error. */
function reasonOf(socket: TLSSocket): string | undefined {
  const reason: unknown = socket.authorizationError;
  return typeof reason === 'string' ? reason : undefined;
}

/** By name, `listen` and `monitor`; undefined without TLS. */
export const HANDSHAKE_METRICS: readonly MetricDescription<Parts<Pick<ListenerTls, 'numbers'>>>[] = [
  counter(
    'd2_sidecar_tls_handshakes_failed_total',
    'Failed TLS handshakes of clients, by reason.',
    ofEach(({ numbers: { failed, timedOut, refused } }) => {
      return { timeout: timedOut, certificate: refused, other: failed - timedOut - refused };
    }),
    'listener',
    'reason',
  ),
  counter(
    'd2_sidecar_tls_unverified_clients_total',
    'Clients whose certificate was not verified.',
    ofEach(({ numbers }) => numbers.unverified),
    'listener',
  ),
];

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
 * The client's identity, if its certificate chains to a CA in `clientCaFile`. Undefined without one, and for a subject
 * without exactly one common name.
 */
export function clientCertificateOf(socket: TLSSocket) {
  // A session resumed without a certificate is also authorized, so the certificate itself is checked below.
  if (!socket.authorized) return undefined;
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return undefined;
  const user: unknown = certificate.toLegacyObject().subject.CN;
  if (typeof user !== 'string' || user === '') return undefined;
  return {
    /** Common name of the subject, exactly as the CA wrote it, e.g. `historian`. */
    user,
    /** Issuer and subject; a renewed certificate keeps both. */
    subject: `${certificate.issuer}\n\n${certificate.subject}`,
  };
}
