/** TLS of one listener: the options of its server, its failed handshakes, and certificate changes at run time. */
import type { Server, TLSSocket, TlsOptions } from 'node:tls';
import type { SidecarError } from '../base/errors.ts';
import type { ListenerTls as ListenerTlsConfig } from '../config/config.ts';
import { type ClientCertificate, clientCertificateOf } from './client-certificate.ts';
import { ALPN_PROTOCOLS } from './policy.ts';
import type { TlsFiles } from './tls-files.ts';
import { WatchedTls, type WatchedTlsNumbers, type WatchedTlsParts } from './watched-tls.ts';

export interface HandshakeNumbers {
  /** All handshakes that failed, including the two counts below. */
  readonly failed: number;
  readonly timedOut: number;
  /** Other failed handshakes of clients that had to present a certificate: it was missing or not verified. */
  readonly refused: number;
  /** Clients that were accepted as if they had no certificate, because theirs could not be verified. */
  readonly unverified: number;
}

const NO_CERTIFICATE = 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE';

export class ListenerTls {
  readonly #section: string;
  readonly #clientAuth: ListenerTlsConfig['clientAuth'];
  readonly #watched: WatchedTls;
  readonly #logger: WatchedTlsParts['logger'];
  #failed = 0;
  #timedOut = 0;
  #refused = 0;
  #unverified = 0;

  /** `section` names the listener in messages, e.g. `listen.tls`. Throws StartError (D2S_ERR_TLS_FILE), ConfigError. */
  static async open(section: string, config: ListenerTlsConfig, parts: WatchedTlsParts): Promise<ListenerTls> {
    return new ListenerTls(section, config, await WatchedTls.open(filesOf(section, config), parts), parts);
  }

  /** Like `open`, but never rejects because of a file; see `WatchedTls.openOrStandIn`. */
  static async openOrStandIn(section: string, config: ListenerTlsConfig, parts: WatchedTlsParts): Promise<ListenerTls> {
    const watched = await WatchedTls.openOrStandIn(filesOf(section, config), parts);
    return new ListenerTls(section, config, watched, parts);
  }

  private constructor(section: string, config: ListenerTlsConfig, watched: WatchedTls, { logger }: WatchedTlsParts) {
    this.#section = section;
    this.#clientAuth = config.clientAuth;
    this.#watched = watched;
    this.#logger = logger;
  }

  get numbers(): HandshakeNumbers & WatchedTlsNumbers {
    return {
      failed: this.#failed,
      timedOut: this.#timedOut,
      refused: this.#refused,
      unverified: this.#unverified,
      ...this.#watched.numbers,
    };
  }

  /** Why the stand-in certificate is used; undefined when the files are used. */
  get trouble(): SidecarError | undefined {
    return this.#watched.trouble;
  }

  /** For `tls.createServer` and `https.createServer`. */
  serverOptions(handshakeTimeoutMs: number): TlsOptions {
    return {
      ...this.#watched.options,
      ALPNProtocols: [...ALPN_PROTOCOLS],
      handshakeTimeout: handshakeTimeoutMs,
      requestCert: this.#clientAuth !== 'none',
      rejectUnauthorized: this.#clientAuth === 'require',
    };
  }

  /** Updates the certificates of `server`, made with `serverOptions`, and counts its failed handshakes. */
  attach(server: Server): void {
    this.#watched.onReplaced((options) => server.setSecureContext(options));
    server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => this.#onFailed(error, socket));
  }

  /** Reads other files for the same kind of clients; the result applies them to new connections. Throws like `open`. */
  async prepare(config: ListenerTlsConfig): Promise<() => void> {
    return await this.#watched.prepare(filesOf(this.#section, config));
  }

  watch(): void {
    this.#watched.watch();
  }

  close(): void {
    this.#watched.close();
  }

  async poll(): Promise<void> {
    await this.#watched.poll();
  }

  /** The client's identity by its certificate. Call it once for each connection: it counts unverified clients. */
  clientOf(socket: TLSSocket): ClientCertificate | undefined {
    if (this.#clientAuth === 'none') return undefined;
    if (!socket.authorized && socket.getPeerX509Certificate() !== undefined) {
      this.#unverified += 1;
      this.#logger.debug(
        { section: this.#section, reason: reasonOf(socket) },
        'a client certificate leads to no authority',
      );
    }
    return clientCertificateOf(socket);
  }

  #onFailed(error: NodeJS.ErrnoException, socket: TLSSocket): void {
    this.#failed += 1;
    const refusal = error.code === NO_CERTIFICATE ? NO_CERTIFICATE : reasonOf(socket);
    if (error.code === 'ERR_TLS_HANDSHAKE_TIMEOUT') this.#timedOut += 1;
    else if (refusal !== undefined) this.#refused += 1;
    // Log codes only, at debug: anyone who reaches the port can cause failures of any kind.
    this.#logger.debug({ section: this.#section, reason: refusal ?? error.code }, 'a TLS handshake failed');
    // Node leaves the socket open.
    socket.destroy();
  }
}

function filesOf(section: string, { certFile, keyFile, clientCaFile }: ListenerTlsConfig): TlsFiles {
  return { section, certFile, keyFile, caFile: clientCaFile, caKey: 'clientCaFile' };
}

/** E.g. `SELF_SIGNED_CERT_IN_CHAIN`; undefined if the certificate was not the reason. Node's types say Error. */
function reasonOf(socket: TLSSocket): string | undefined {
  const reason: unknown = socket.authorizationError;
  return typeof reason === 'string' ? reason : undefined;
}
