/** Opens the parts of a sidecar that need files or packages, before the others can be created. */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { readVersion } from '../base/version.ts';
import { hasReceivers } from '../config/alerts-schema.ts';
import type { Config } from '../config/config.ts';
import { openAccessLogging } from '../export/access-log/access-logging.ts';
import type { OtlpParts } from '../export/otlp/otlp.ts';
import { createJvmSource } from '../jvm/create-source.ts';
import { JvmMonitor } from '../jvm/jvm-monitor.ts';
import { MemoryBudget } from '../limits/memory-budget.ts';
import type { CometListener } from '../measure/comet/comet-application.ts';
import { Recorder } from '../measure/record/recorder.ts';
import { MonitorAccess } from '../monitor/access/monitor-access.ts';
import { UpstreamTls } from '../proxy/upstream/upstream-tls.ts';
import { restoreState } from '../state/restore-state.ts';
import { ListenerTls } from '../tls/listener-tls.ts';
import type { OwnCertificate } from '../tls/own-certificate.ts';
import { WatchedTls, type WatchedTlsParts } from '../tls/watched-tls.ts';

interface OpenOptions {
  readonly logger: Logger;
  readonly clock: Clock;
  /** The listener of `d2-sidecar learn`, which leaves state and history, access log and OTLP to the sidecar that serves. */
  readonly listener: CometListener | undefined;
}

export type SidecarParts = Awaited<ReturnType<typeof openParts>>;

/** Throws like `Sidecar.create`. */
export async function openParts(config: Config, options: OpenOptions) {
  const { logger, clock, listener } = options;
  const isServing = listener === undefined;
  const access = await MonitorAccess.open(config.monitor.auth, { logger, clock });
  const tls = await SidecarTls.open(config, { logger, clock });
  const jvm = await createJvmMonitor(config, clock, logger);
  const { recorder, state } = await openRecorder(config, options);
  const { observers } = recorder;
  const logConfig = isServing ? config.accessLog : { ...config.accessLog, file: undefined };
  const accessLog = await openAccessLogging(logConfig, { logger, clock, observers });
  const createOtlp = isServing ? await loadOtlp(config) : undefined;
  const archive = isServing ? await openArchive(config, options) : undefined;
  const alerts = isServing ? await openAlerts(config, options) : undefined;
  return { logger, clock, access, tls, jvm, recorder, state, accessLog, createOtlp, archive, alerts };
}

/** Undefined without a receiver, and its code is then not loaded. */
async function openAlerts({ alerts: config, state, history }: Config, { clock, logger }: OpenOptions) {
  if (!hasReceivers(config)) return undefined;
  const { Alerts } = await import('../export/alerts/alerts.ts');
  return await Alerts.open({ config, file: alertsFile({ state, history }), clock, logger });
}

/** Beside the file that outlives a restart. */
export function alertsFile({ state, history }: Pick<Config, 'state' | 'history'>): string | undefined {
  const beside = state.file ?? history.file;
  return beside === undefined ? undefined : `${beside}.alerts`;
}

/** The history on disk; undefined without `history.file`, and its code is then not loaded. */
async function openArchive({ history: { file, ...limits } }: Config, { clock, logger }: OpenOptions) {
  if (file === undefined) return undefined;
  const { Archive } = await import('../archive/archive.ts');
  return await Archive.open({ file, ...limits, clock, logger });
}

/** Creates the recorder, with the counters of the state file, and `state`, which keeps them; undefined without a file. */
async function openRecorder(config: Config, { logger, clock, listener }: OpenOptions) {
  const create = () => new Recorder(config, clock, { listener, memory: new MemoryBudget(config.limits.memoryBytes) });
  const { file, intervalMs } = config.state;
  if (file === undefined || listener !== undefined) return { recorder: create(), state: undefined };
  const stateOptions = { file, intervalMs, sidecarVersion: readVersion(), clock, logger };
  const { made, keeper } = await restoreState(create, stateOptions);
  return { recorder: made, state: keeper };
}

/** Loads some megabytes of packages, so only if `otlp.endpoint` is set. */
async function loadOtlp({ otlp }: Config) {
  if (otlp.endpoint === undefined) return undefined;
  const { Otlp } = await import('../export/otlp/otlp.ts');
  return (parts: OtlpParts) => new Otlp(parts);
}

async function createJvmMonitor(config: Config, clock: Clock, logger: Logger): Promise<JvmMonitor | undefined> {
  const source = await createJvmSource({ config, clock, logger, env: process.env });
  if (source === undefined) return undefined;
  const { intervalMs, timeoutMs, staleAfterMs, http } = config.jvm;
  const isOptional = config.jvm.source === 'auto' && http === undefined;
  const upstreamPort = config.upstream.port;
  return new JvmMonitor({ source, intervalMs, timeoutMs, staleAfterMs, isOptional, upstreamPort, clock, logger });
}

/** All TLS of the sidecar, opened, watched and closed together. */
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
