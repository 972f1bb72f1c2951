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
  const tls = await openTls(config, { logger, clock });
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
  // Beside the file that outlives a restart.
  const beside = state.file ?? history.file;
  return await Alerts.open({ config, file: beside && `${beside}.alerts`, clock, logger });
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
export type SidecarTls = Awaited<ReturnType<typeof openTls>>;

/**
 * Throws StartError (D2S_ERR_TLS_FILE) or ConfigError for unusable files that the traffic needs. Unusable files of
 * the monitoring port become its `trouble` and are logged. Files that look wrong are logged.
 */
async function openTls({ listen, monitor, upstream }: Config, parts: WatchedTlsParts) {
  /** Each is undefined if its connections are not encrypted. */
  const tls = {
    listen: listen.tls && (await ListenerTls.open('listen.tls', listen.tls, parts)),
    monitor: monitor.tls && (await ListenerTls.open('monitor.tls', monitor.tls, parts, WatchedTls.openOrStandIn)),
    upstream: upstream.tls && (await UpstreamTls.open(upstream, upstream.tls, parts)),
  };
  const files = Object.values(tls).flatMap((part) => part?.files ?? []);
  return {
    ...tls,
    /**
     * Reads the files of a new configuration with the same TLS sections. The returned function applies them to new
     * connections. Throws like `openTls`, and then changes nothing.
     */
    prepareReload: async (config: Config): Promise<() => void> => {
      const prepared = [
        config.listen.tls && (await tls.listen?.prepareReload(config.listen.tls)),
        config.monitor.tls && (await tls.monitor?.prepareReload(config.monitor.tls)),
        config.upstream.tls && (await tls.upstream?.prepareReload(config.upstream.tls)),
      ];
      return () => {
        for (const apply of prepared) apply?.();
      };
    },
    /** Those in use now. */
    certificates: () => files.flatMap(({ material }) => material.certificate ?? []),
    watch: () => {
      for (const one of files) one.watch();
    },
    close: () => {
      for (const one of files) one.close();
    },
  };
}
