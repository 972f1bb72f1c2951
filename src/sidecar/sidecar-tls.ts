/** All TLS of the sidecar, opened, watched and closed together. */
import type { Config } from '../config/config.ts';
import { UpstreamTls } from '../proxy/upstream/upstream-tls.ts';
import { ListenerTls } from '../tls/listener-tls.ts';
import type { WatchedTlsParts } from '../tls/watched-tls.ts';

export class SidecarTls {
  /** Each is undefined where the connection is plain. */
  readonly listen: ListenerTls | undefined;
  readonly monitor: ListenerTls | undefined;
  readonly upstream: UpstreamTls | undefined;

  /**
   * Throws StartError (D2S_ERR_TLS_FILE) or ConfigError for unusable files that the traffic needs. Unusable files of
   * the monitoring port become its `trouble` and are logged. Doubtful files are logged.
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
   * Reads the files of another configuration, which has TLS in the same places. The returned function uses them for new
   * connections. Throws like `open`, with everything as it was.
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

  watch(): void {
    for (const part of [this.listen, this.monitor, this.upstream]) part?.files.watch();
  }

  close(): void {
    for (const part of [this.listen, this.monitor, this.upstream]) part?.files.close();
  }
}
