import { createLogger } from '../../../src/base/logger.ts';
import type { Config, ListenerTlsConfig, UpstreamTlsConfig } from '../../../src/config/config.ts';
import { Sidecar } from '../../../src/sidecar/sidecar.ts';
import { testConfig } from './test-config.ts';

export interface SidecarOptions {
  readonly dataPath: Config['dataPath'];
  readonly upstreamPort: number;
  /** Default `append`. */
  readonly forwarded?: Config['forwarded'];
  readonly listenTls?: ListenerTlsConfig | undefined;
  readonly upstreamTls?: UpstreamTlsConfig | undefined;
}

/** A sidecar in this process, before an upstream on the loopback; `close` waits for the end of it. */
export interface RunningSidecar {
  readonly port: number;
  /** Host and port. */
  readonly monitor: string;
  close(): Promise<void>;
}

export async function startSidecar(options: SidecarOptions): Promise<RunningSidecar> {
  const base = testConfig();
  const config = testConfig({
    listen: { ...base.listen, tls: options.listenTls },
    dataPath: options.dataPath,
    forwarded: options.forwarded ?? 'append',
    upstream: {
      ...base.upstream,
      port: options.upstreamPort,
      baseUrl: `http://127.0.0.1:${options.upstreamPort}`,
      tls: options.upstreamTls,
    },
  });
  const sidecar = await Sidecar.create(config, createLogger('silent'));
  const { listen, monitor } = await sidecar.start();
  return {
    port: Number(/:(\d+)\D*$/.exec(listen)?.[1]),
    monitor,
    close: () => sidecar.stop(),
  };
}
