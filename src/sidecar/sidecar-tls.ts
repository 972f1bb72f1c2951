/** All of the sidecar's TLS: what the configuration asks for, opened, watched and closed together. */
import type { Config } from '../config/config.ts';
import { UpstreamTls } from '../proxy/upstream/upstream-tls.ts';
import { ListenerTls } from '../tls/listener-tls.ts';
import type { WatchedTlsParts } from '../tls/watched-tls.ts';

export class SidecarTls {
  /** Each undefined where it is plain. */
  readonly listen: ListenerTls | undefined;
  readonly monitor: ListenerTls | undefined;
  readonly upstream: UpstreamTls | undefined;

  /**
   * Throws StartError (D2S_ERR_TLS_FILE) or ConfigError for files that the traffic needs and that cannot be used. Those of the monitoring
   * port are its `trouble`, and in the log; as is what is doubtful.
   */
  static async open({ listen, monitor, upstream }: Config, parts: WatchedTlsParts): Promise<SidecarTls> {
    return new SidecarTls(
      listen.tls && (await ListenerTls.open('listen.tls', listen.tls, parts)),
      monitor.tls && (await ListenerTls.openOrStandIn('monitor.tls', monitor.tls, parts)),
      upstream.tls && (await UpstreamTls.open(upstream, upstream.tls, parts)),
    );
  }

  private constructor(
    listen: ListenerTls | undefined,
    monitor: ListenerTls | undefined,
    upstream: UpstreamTls | undefined,
  ) {
    this.listen = listen;
    this.monitor = monitor;
    this.upstream = upstream;
  }

  /**
   * Reads the files that another configuration names, which has TLS at the same places; what it returns uses them for connections
   * that come then. Throws as `open`, with everything as it was.
   */
  async prepare({ listen, monitor, upstream }: Config): Promise<() => void> {
    const prepared = [
      listen.tls && (await this.listen?.prepare(listen.tls)),
      monitor.tls && (await this.monitor?.prepare(monitor.tls)),
      upstream.tls && (await this.upstream?.prepare(upstream.tls)),
    ];
    return () => {
      for (const takeOver of prepared) takeOver?.();
    };
  }

  /** Uses changed files from now on, for connections that come then. */
  watch(): void {
    for (const part of [this.listen, this.monitor, this.upstream]) part?.watch();
  }

  close(): void {
    for (const part of [this.listen, this.monitor, this.upstream]) part?.close();
  }
}
