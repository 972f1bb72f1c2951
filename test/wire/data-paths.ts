import { existsSync } from 'node:fs';
import type { Config } from '../../src/config/config.ts';
import { createLogger } from '../../src/logger.ts';
import { testConfig } from './test-config.ts';

export interface SidecarOptions {
  readonly dataPath: Config['dataPath'];
  readonly upstreamPort: number;
  /** Default `append`. */
  readonly forwarded?: Config['forwarded'];
}

/** A sidecar in this process, before an upstream on the loopback; `close` waits for the end of it. */
export interface RunningSidecar {
  readonly port: number;
  close(): Promise<void>;
}

interface SidecarLike {
  start(): Promise<{ listen: string; monitor: string }>;
  stop(): Promise<void>;
}

const SIDECAR_MODULE = '../../src/sidecar.ts';

export const hasSidecar = existsSync(new URL(SIDECAR_MODULE, import.meta.url));

export async function startSidecar(options: SidecarOptions): Promise<RunningSidecar> {
  const { Sidecar } = (await import(SIDECAR_MODULE)) as {
    Sidecar: { create(config: Config, logger: ReturnType<typeof createLogger>): Promise<SidecarLike> };
  };
  const base = testConfig();
  const config = testConfig({
    dataPath: options.dataPath,
    forwarded: options.forwarded ?? 'append',
    upstream: {
      ...base.upstream,
      port: options.upstreamPort,
      origin: `http://127.0.0.1:${options.upstreamPort}`,
    },
  });
  const sidecar = await Sidecar.create(config, createLogger('silent'));
  const { listen } = await sidecar.start();
  return {
    port: Number(/:(\d+)\D*$/.exec(listen)?.[1]),
    close: () => sidecar.stop(),
  };
}
