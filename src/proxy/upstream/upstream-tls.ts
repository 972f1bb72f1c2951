/** TLS connections to the application server. Its certificate is verified before anything is sent to it. */

import tls, { type PeerCertificate, type TLSSocket } from 'node:tls';
import { NS_PER_S, PhaseTimer } from '../../base/clock.ts';
import { counter, type MetricDescription } from '../../base/metric-description.ts';
import type { HostPort, UpstreamTlsConfig } from '../../config/config.ts';
import { ALPN_PROTOCOLS, certificateName, indicatedName } from '../../tls/policy.ts';
import { describeTlsFault } from '../../tls/tls-fault.ts';
import type { TlsFiles } from '../../tls/tls-files.ts';
import { WatchedTls, type WatchedTlsNumbers, type WatchedTlsParts } from '../../tls/watched-tls.ts';
import { tlsReasonOf } from '../exchange/upstream-failure.ts';
import type { DialOptions } from './shared-lookup.ts';

/** Every request and every probe may fail: at most one log line per interval. */
const LOG_INTERVAL_NS = 10 * NS_PER_S;
/** The same for a reason that was logged last. */
const SAME_REASON_INTERVAL_NS = 600 * NS_PER_S;

const UNVERIFIED = 'upstream.tls.verify is false: any server at upstream.url is accepted as the application server';

export class UpstreamTls {
  readonly #address: HostPort;
  readonly files: WatchedTls;
  readonly #parts: WatchedTlsParts;
  #config: UpstreamTlsConfig;
  #name: string;
  #failed = 0;
  #loggedNs = Number.NEGATIVE_INFINITY;
  #loggedReason = '';

  /** Throws StartError (D2S_ERR_TLS_FILE), ConfigError. */
  static async open(address: HostPort, config: UpstreamTlsConfig, parts: WatchedTlsParts): Promise<UpstreamTls> {
    const watched = await WatchedTls.open(filesOf(config), parts);
    if (!config.verify) parts.logger.warn(UNVERIFIED);
    return new UpstreamTls(address, config, watched, parts);
  }

  private constructor(address: HostPort, config: UpstreamTlsConfig, watched: WatchedTls, parts: WatchedTlsParts) {
    this.#address = address;
    this.#config = config;
    this.#name = certificateName(config.serverName ?? address.host);
    this.files = watched;
    this.#parts = parts;
  }

  /** `failed` counts connections whose TLS setup failed. */
  get numbers(): WatchedTlsNumbers & { readonly failed: number } {
    return { failed: this.#failed, ...this.files.numbers };
  }

  /** Reads the files of another configuration; the result applies it to new connections. Throws as `open`. */
  async prepareReload(config: UpstreamTlsConfig): Promise<() => void> {
    const apply = await this.files.prepareReload(filesOf(config));
    return () => {
      if (this.#config.verify && !config.verify) this.#parts.logger.warn(UNVERIFIED);
      this.#config = config;
      this.#name = certificateName(config.serverName ?? this.#address.host);
      apply();
    };
  }

  /** 'connect' is TCP's; it can be used after 'secureConnect'. Earlier writes are never sent to a refused server. */
  connect(dialOptions?: DialOptions): TLSSocket {
    const { host, port } = this.#address;
    const name = this.#name;
    const socket = tls.connect({
      host,
      port,
      ...dialOptions,
      secureContext: this.files.material.secureContext,
      servername: indicatedName(name),
      checkServerIdentity: (_host: string, certificate: PeerCertificate) => tls.checkServerIdentity(name, certificate),
      rejectUnauthorized: this.#config.verify,
      ALPNProtocols: [...ALPN_PROTOCOLS],
    } as tls.ConnectionOptions);
    socket.on('connect', () => socket.setNoDelay(true));
    return socket;
  }

  /** Logs the code (`CERT_HAS_EXPIRED`), never the message, which could hold text from the peer's certificate. */
  noteFailure(cause: unknown): void {
    const reason = tlsReasonOf(cause);
    this.#failed += 1;
    const nowNs = this.#parts.clock.nowNs();
    const intervalNs = reason === this.#loggedReason ? SAME_REASON_INTERVAL_NS : LOG_INTERVAL_NS;
    if (nowNs - this.#loggedNs < intervalNs) return;
    this.#loggedNs = nowNs;
    this.#loggedReason = reason;
    const { text, see } = describeTlsFault(reason);
    this.#parts.logger.warn(
      { code: 'D2S_ERR_UPSTREAM_TLS', reason, serverName: this.#name, failed: this.#failed },
      `TLS with the upstream cannot be set up: ${text}; see ${see}`,
    );
  }
}

/** Whether `address`, configured without TLS, has it. No certificate is verified, and only the handshake is sent. */
export function speaksTls({ host, port }: HostPort, limitMs: number, dialOptions?: DialOptions): Promise<boolean> {
  return new Promise((resolve) => {
    const servername = indicatedName(certificateName(host));
    const socket = tls.connect({
      host,
      port,
      ...dialOptions,
      servername,
      rejectUnauthorized: false,
    } as tls.ConnectionOptions);
    const timer = new PhaseTimer();
    const finish = (isTls: boolean) => {
      timer.stop();
      socket.destroy();
      resolve(isTls);
    };
    timer.start(limitMs, () => finish(false));
    socket.on('secureConnect', () => finish(true));
    // An alert is a message of TLS.
    socket.on('error', (cause) => finish(tlsReasonOf(cause).includes('_ALERT_')));
  });
}

/**
 * Calls `run` when the server has accepted the handshake, maybe twice. In TLS 1.3 it may refuse our certificate after
 * 'secureConnect' (RFC 8446 §4.4.2.4): only a session ticket, or data, show that it has not.
 */
export function onAccepted(socket: TLSSocket, run: () => void): void {
  socket.once('session', run);
  socket.once('secureConnect', () => {
    if (socket.getProtocol() !== 'TLSv1.3') run();
  });
}

function filesOf(config: UpstreamTlsConfig): TlsFiles {
  return { ...config, section: 'upstream.tls', caKey: 'caFile' };
}

export const UPSTREAM_TLS_METRICS: readonly MetricDescription<Pick<UpstreamTls, 'numbers'>>[] = [
  counter(
    'd2_sidecar_upstream_tls_failures_total',
    'Connections to the upstream whose TLS failed.',
    ({ numbers }) => numbers.failed,
  ),
];
