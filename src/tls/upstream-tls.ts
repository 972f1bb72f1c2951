/** Dialling the application server by TLS. Its certificate is verified before anything is sent to it. */
import net from 'node:net';
import tls, { type PeerCertificate, type TLSSocket } from 'node:tls';
import { type Clock, NS_PER_S } from '../clock.ts';
import type { HostPort, UpstreamTls as UpstreamTlsConfig } from '../config/config.ts';
import { tlsReasonOf, toUpstreamFailure } from '../exchange/upstream-failure.ts';
import type { Logger } from '../logger.ts';
import { ALPN_PROTOCOLS } from './policy.ts';
import { WatchedTls, type WatchedTlsNumbers, type WatchedTlsParts } from './watched-tls.ts';

/** Every request may fail alike, and one line tells it all. */
const LOG_INTERVAL_NS = 10 * NS_PER_S;

export class UpstreamTls {
  readonly #address: HostPort;
  readonly #name: string;
  readonly #config: UpstreamTlsConfig;
  readonly #watched: WatchedTls;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #failed = 0;
  #loggedNs = Number.NEGATIVE_INFINITY;

  /** Throws StartError (D2S_ERR_TLS_FILE), ConfigError. */
  static async open(address: HostPort, config: UpstreamTlsConfig, parts: WatchedTlsParts): Promise<UpstreamTls> {
    const { certFile, keyFile, caFile } = config;
    const files = { section: 'upstream.tls', certFile, keyFile, caFile, caKey: 'caFile' } as const;
    const watched = await WatchedTls.open(files, parts);
    if (!config.verify) {
      parts.logger.warn(
        'upstream.tls.verify is false: whoever answers at upstream.url is taken for the application server',
      );
    }
    return new UpstreamTls(address, config, watched, parts);
  }

  private constructor(address: HostPort, config: UpstreamTlsConfig, watched: WatchedTls, parts: WatchedTlsParts) {
    this.#address = address;
    this.#name = config.serverName ?? address.host;
    this.#config = config;
    this.#watched = watched;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
  }

  /** `failed`: connections on which TLS could not be set up. */
  get numbers(): WatchedTlsNumbers & { readonly failed: number } {
    return { failed: this.#failed, ...this.#watched.numbers };
  }

  watch(): void {
    this.#watched.watch();
  }

  close(): void {
    this.#watched.close();
  }

  /** Looks at the files now. */
  async poll(): Promise<void> {
    await this.#watched.poll();
  }

  /**
   * Opens a connection; `connect` is TCP's, `secureConnect` says that it can be used. What is written before waits, and is never
   * sent to one whose certificate is refused.
   */
  connect(): TLSSocket {
    const { host, port } = this.#address;
    const name = this.#name;
    const socket = tls.connect({
      host,
      port,
      autoSelectFamily: true,
      secureContext: this.#watched.secureContext,
      // RFC 6066 §3: an address is no server name.
      servername: net.isIP(name) === 0 ? name : '',
      checkServerIdentity: (_host: string, certificate: PeerCertificate) => tls.checkServerIdentity(name, certificate),
      rejectUnauthorized: this.#config.verify,
      ALPNProtocols: [...ALPN_PROTOCOLS],
    } as tls.ConnectionOptions);
    let hasConnected = false;
    let isSecure = false;
    socket.on('connect', () => {
      hasConnected = true;
      socket.setNoDelay(true);
      socket.setKeepAlive(true);
    });
    socket.on('secureConnect', () => {
      isSecure = true;
    });
    socket.on('error', (cause) => {
      const { code } = toUpstreamFailure(cause, isSecure ? 'wait' : hasConnected ? 'handshake' : 'connect');
      if (code === 'D2S_ERR_UPSTREAM_TLS') this.#onFailed(tlsReasonOf(cause));
    });
    return socket;
  }

  /** The code says it all (`CERT_HAS_EXPIRED`); a message could hold what the other side has written into its certificate. */
  #onFailed(reason: string): void {
    this.#failed += 1;
    const nowNs = this.#clock.nowNs();
    if (nowNs - this.#loggedNs < LOG_INTERVAL_NS) return;
    this.#loggedNs = nowNs;
    this.#logger.warn(
      { code: 'D2S_ERR_UPSTREAM_TLS', reason, serverName: this.#name, failed: this.#failed },
      'TLS with the upstream cannot be set up',
    );
  }
}
