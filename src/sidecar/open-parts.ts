/** Opens the parts of a sidecar that need files or packages, before the others can be created. */
import type { Archive } from '../archive/archive.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { readVersion } from '../base/version.ts';
import { hasReceivers } from '../config/alerts-schema.ts';
import type { Config } from '../config/config.ts';
import { AccessLogging } from '../export/access-log/access-logging.ts';
import type { Alerts } from '../export/alerts/alerts.ts';
import type { Otlp, OtlpParts } from '../export/otlp/otlp.ts';
import { createJvmSource } from '../jvm/create-source.ts';
import { JvmMonitor } from '../jvm/jvm-monitor.ts';
import { MemoryBudget } from '../limits/memory-budget.ts';
import type { CometListener } from '../measure/comet/comet-listener.ts';
import { Recorder } from '../measure/record/recorder.ts';
import { MonitorAccess } from '../monitor/access/monitor-access.ts';
import { restoreState } from '../state/restore-state.ts';
import type { StateKeeper } from '../state/state-keeper.ts';
import { SidecarTls } from './sidecar-tls.ts';

interface OpenOptions {
  readonly logger: Logger;
  readonly clock: Clock;
  /** The listener of `d2-sidecar learn`, which leaves state and history, access log and OTLP to the sidecar that serves. */
  readonly listener: CometListener | undefined;
}

type CreateOtlp = (parts: OtlpParts) => Otlp;

export interface SidecarParts {
  readonly access: MonitorAccess;
  readonly tls: SidecarTls;
  readonly jvm: JvmMonitor | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly recorder: Recorder;
  readonly accessLog: AccessLogging;
  readonly createOtlp: CreateOtlp | undefined;
  /** Keeps counters across restarts; undefined without a state file. */
  readonly state: StateKeeper | undefined;
  /** The history on disk; undefined without `history.file`, and its code is then not loaded. */
  readonly archive: Archive | undefined;
  /** Messages; undefined without a receiver, and its code is then not loaded. */
  readonly alerts: Alerts | undefined;
}

/** Throws like `Sidecar.create`. */
export async function openParts(config: Config, options: OpenOptions): Promise<SidecarParts> {
  const { logger, clock, listener } = options;
  const access = await MonitorAccess.open(config.monitor.auth, { logger, clock });
  const tls = await SidecarTls.open(config, { logger, clock });
  const jvm = await createJvmMonitor(config, clock, logger);
  const { recorder, state } = await openRecorder(config, options);
  const { observers } = recorder;
  const logConfig = listener === undefined ? config.accessLog : { ...config.accessLog, file: undefined };
  const accessLog = await AccessLogging.open(logConfig, { logger, clock, observers });
  const createOtlp = listener === undefined ? await loadOtlp(config) : undefined;
  const archive = listener === undefined ? await openArchive(config, options) : undefined;
  const alerts = listener === undefined ? await openAlerts(config, options) : undefined;
  return { logger, clock, access, tls, jvm, recorder, state, accessLog, createOtlp, archive, alerts };
}

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

async function openArchive(
  { history: { file, ...limits } }: Config,
  { clock, logger }: OpenOptions,
): Promise<Archive | undefined> {
  if (file === undefined) return undefined;
  const { Archive } = await import('../archive/archive.ts');
  return await Archive.open({ file, ...limits, clock, logger });
}

/** Creates the recorder, with the counters of the state file. */
async function openRecorder(
  config: Config,
  { logger, clock, listener }: OpenOptions,
): Promise<Pick<SidecarParts, 'recorder' | 'state'>> {
  const create = () => new Recorder(config, clock, { listener, memory: new MemoryBudget(config.limits.memoryBytes) });
  const { file, intervalMs } = config.state;
  if (file === undefined || listener !== undefined) return { recorder: create(), state: undefined };
  const stateOptions = { file, intervalMs, sidecarVersion: readVersion(), clock, logger };
  const { made, keeper } = await restoreState(create, stateOptions);
  return { recorder: made, state: keeper };
}

/** Loads some megabytes of packages, so only if `otlp.endpoint` is set. */
async function loadOtlp({ otlp }: Config): Promise<CreateOtlp | undefined> {
  if (otlp.endpoint === undefined) return undefined;
  const { Otlp } = await import('../export/otlp/otlp.ts');
  return (parts) => new Otlp(parts);
}

async function createJvmMonitor(config: Config, clock: Clock, logger: Logger): Promise<JvmMonitor | undefined> {
  const source = await createJvmSource({ config, clock, logger, env: process.env });
  if (source === undefined) return undefined;
  const { intervalMs, timeoutMs, staleAfterMs, http } = config.jvm;
  const isOptional = config.jvm.source === 'auto' && http === undefined;
  const upstreamPort = config.upstream.port;
  return new JvmMonitor({ source, intervalMs, timeoutMs, staleAfterMs, isOptional, upstreamPort, clock, logger });
}
