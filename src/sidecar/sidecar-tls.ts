/** All TLS of the sidecar, opened, watched and closed together. */
import type { Config } from '../config/config.ts';
import { UpstreamTls } from '../proxy/upstream/upstream-tls.ts';
import { ListenerTls } from '../tls/listener-tls.ts';
import type { OwnCertificate } from '../tls/own-certificate.ts';
import { WatchedTls, type WatchedTlsParts } from '../tls/watched-tls.ts';

export class SidecarTls {
  /** Each is undefined if its connections are not encrypted. */
  readonly listen: ListenerTls | undefined;
  readonly monitor: ListenerTls | undefined;
  readonly upstream: UpstreamTls | undefined;
  readonly #all: readonly (ListenerTls | UpstreamTls)[];

  /**
   * Throws StartError (D2S_ERR_TLS_FILE) or ConfigError for unusable files that the traffic needs. Unusable files of
   * the monitoring port become its `trouble` and are logged. Files that look wrong are logged.
   */
  static async open({ listen, monitor, upstream }: Config, parts: WatchedTlsParts): Promise<SidecarTls> {
    return new SidecarTls({
      listen: listen.tls && (await ListenerTls.open('listen.tls', listen.tls, parts)),
      monitor: monitor.tls && (await ListenerTls.open('monitor.tls', monitor.tls, parts, WatchedTls.openOrStandIn)),
      upstream: upstream.tls && (await UpstreamTls.open(upstream, upstream.tls, parts)),
    });
  }

  private constructor({ listen, monitor, upstream }: Pick<SidecarTls, 'listen' | 'monitor' | 'upstream'>) {
    this.#all = [listen, monitor, upstream].filter((part) => part !== undefined);
    this.listen = listen;
    this.monitor = monitor;
    this.upstream = upstream;
  }

  /**
   * Reads the files of a new configuration with the same TLS sections. The returned function applies them to new
   * connections. Throws like `open`, and then changes nothing.
   */
  async prepareReload({ listen, monitor, upstream }: Config): Promise<() => void> {
    const prepared = [
      listen.tls && (await this.listen?.prepareReload(listen.tls)),
      monitor.tls && (await this.monitor?.prepareReload(monitor.tls)),
      upstream.tls && (await this.upstream?.prepareReload(upstream.tls)),
    ];
    return () => {
      for (const apply of prepared) apply?.();
    };
  }

  get certificates(): readonly OwnCertificate[] {
    return this.#all.map(({ files }) => files.material.certificate).filter((certificate) => certificate !== undefined);
  }

  watch(): void {
    for (const { files } of this.#all) files.watch();
  }

  close(): void {
    for (const { files } of this.#all) files.close();
  }
}
