/** Dialling the application server by TLS. Its certificate is verified before anything is sent to it. */
import net from 'node:net';
import tls, { type PeerCertificate, type TLSSocket } from 'node:tls';
import { type Clock, NS_PER_S } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { HostPort, UpstreamTls as UpstreamTlsConfig } from '../../config/config.ts';
import { ALPN_PROTOCOLS } from '../../tls/policy.ts';
import type { TlsFiles } from '../../tls/tls-files.ts';
import { WatchedTls, type WatchedTlsNumbers, type WatchedTlsParts } from '../../tls/watched-tls.ts';
import { tlsReasonOf, toUpstreamFailure } from '../exchange/upstream-failure.ts';

/** Every request may fail alike, and one line tells it all. */
const LOG_INTERVAL_NS = 10 * NS_PER_S;

const UNVERIFIED = 'upstream.tls.verify is false: whoever answers at upstream.url is taken for the application server';

export class UpstreamTls {
  readonly #address: HostPort;
  readonly #watched: WatchedTls;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #config: UpstreamTlsConfig;
  #name: string;
  #failed = 0;
  #loggedNs = Number.NEGATIVE_INFINITY;

  /** Throws StartError (D2S_ERR_TLS_FILE), ConfigError. */
  static async open(address: HostPort, config: UpstreamTlsConfig, parts: WatchedTlsParts): Promise<UpstreamTls> {
    const watched = await WatchedTls.open(filesOf(config), parts);
    if (!config.verify) parts.logger.warn(UNVERIFIED);
    return new UpstreamTls(address, config, watched, parts);
  }

  private constructor(address: HostPort, config: UpstreamTlsConfig, watched: WatchedTls, parts: WatchedTlsParts) {
    this.#address = address;
    this.#config = config;
    this.#name = config.serverName ?? address.host;
    this.#watched = watched;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
  }

  /** `failed`: connections on which TLS could not be set up. */
  get numbers(): WatchedTlsNumbers & { readonly failed: number } {
    return { failed: this.#failed, ...this.#watched.numbers };
  }

  /** Reads what another configuration asks for; what it returns uses that for connections that come then. Throws as `open`. */
  async prepare(config: UpstreamTlsConfig): Promise<() => void> {
    const takeOver = await this.#watched.prepare(filesOf(config));
    return () => {
      if (this.#config.verify && !config.verify) this.#logger.warn(UNVERIFIED);
      this.#config = config;
      this.#name = config.serverName ?? this.#address.host;
      takeOver();
    };
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
   * sent to one whose certificate is refused. `lookup` resolves the name; by default the system is asked each time.
   */
  connect(lookup?: net.LookupFunction): TLSSocket {
    const { host, port } = this.#address;
    const name = this.#name;
    const socket = tls.connect({
      host,
      port,
      autoSelectFamily: true,
      lookup,
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

function filesOf({ certFile, keyFile, caFile }: UpstreamTlsConfig): TlsFiles {
  return { section: 'upstream.tls', certFile, keyFile, caFile, caKey: 'caFile' };
}
