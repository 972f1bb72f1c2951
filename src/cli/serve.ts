/** `d2-sidecar` without a command: starts, logs where it listens, and stops when asked. */
import type { Readable } from 'node:stream';
import { SidecarError, StartError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Config } from '../config/config.ts';
import { findLoopbackTrust } from '../config/loopback-trust.ts';
import type { Life } from '../sidecar/lifecycle.ts';
import type { Reloader } from '../sidecar/reload.ts';
import { ControlServer, type ControlTarget } from './control/control-server.ts';
import type { ControlStatus } from './control/protocol.ts';
import { defaultSocketPath } from './control/socket-folder.ts';
import { HangUps } from './hang-ups.ts';
import type { ServiceManager } from './service-manager.ts';
import { type SignalSource, StopSignals } from './stop-signals.ts';

/** The part of `Sidecar` that this file needs. */
export interface Servable {
  start(): Promise<{ readonly listen: string; readonly monitor: string }>;
  stop(): Promise<void>;
  /** The answer of `/readyz`. */
  isReady(): Promise<boolean>;
  readonly lifecycle: Life;
  /** Reopens log files, which may have been moved away. */
  reopenLogs?(): void;
  report?(hasUsers: boolean): Promise<Readable>;
}

export interface ServeParts<Made extends Servable> {
  readonly config: Config;
  readonly logger: Logger;
  readonly signals: SignalSource;
  readonly createSidecar: (config: Config, logger: Logger) => Promise<Made>;
  /** Logs the first lines. Called once signals are handled, so that a reader of these lines may send some. */
  readonly announce?: () => void;
  /** The service manager that started this process; absent: none. */
  readonly manager?: ServiceManager | undefined;
  /** Creates the reloader; `onApplied` has to be called with the configuration then in force. Absent: no reloads. */
  readonly createReloader?: (sidecar: Made, onApplied: (config: Config) => void) => Pick<Reloader, 'reload'>;
}

const NOT_RELOADED = { kind: 'refused', problems: ['this sidecar does not reload its configuration'] } as const;

/** Resolves to the exit code when the sidecar has stopped. Throws StartError (D2S_ERR_LISTEN, D2S_ERR_CONTROL). */
export async function serve<Made extends Servable>(parts: ServeParts<Made>): Promise<number> {
  const { logger, signals, createSidecar, createReloader, announce, manager } = parts;
  let { config } = parts;
  const stopSignals = new StopSignals(signals);
  const hangUps = createReloader && new HangUps(signals);
  try {
    announce?.();
    const sidecar = await createSidecar(config, logger);
    const { listen, monitor } = await sidecar.start();
    const { lifecycle } = sidecar;
    const status = () => toStatus({ listen, monitor }, lifecycle, config);
    const reloader = createReloader?.(sidecar, (applied) => {
      config = applied;
    });
    const stop = (reason: string, isHurried = false) => {
      manager?.stopping(config.stop.deadlineMs);
      lifecycle.stop(reason, isHurried);
    };
    const readAgain = (reason: 'reload' | 'SIGHUP') => {
      // Even if the configuration is unusable: a program that has moved a log away waits for the new one.
      sidecar.reopenLogs?.();
      return reloader?.reload(reason);
    };
    const target = {
      status,
      isReady: () => sidecar.isReady(),
      report: sidecar.report?.bind(sidecar),
      drain: () => {
        manager?.draining();
        lifecycle.drain();
      },
      reload: async () => (await readAgain('reload')) ?? NOT_RELOADED,
      shutdown: () => stop('shutdown'),
    };
    const control = await openControl(config, target, logger).catch(async (cause) => {
      await sidecar.stop();
      throw cause;
    });
    const { origin } = config.upstream;
    logger.info(
      { listen, monitor, upstream: origin, applications: config.applications, control: control?.path },
      'listening',
    );
    const loopbackTrust = findLoopbackTrust(config);
    if (loopbackTrust !== undefined) logger.warn({ upstream: origin, listen }, loopbackTrust);
    hangUps?.handle(() => void readAgain('SIGHUP'));
    manager?.ready({ listen, monitor });
    stopSignals.passTo({ stop });
    await lifecycle.ended;
    control?.close();
    return 0;
  } finally {
    hangUps?.dispose();
    stopSignals.dispose();
    manager?.dispose();
  }
}

function toStatus(
  bound: { readonly listen: string; readonly monitor: string },
  { state, underway, leftMs }: Life,
  { stop }: Config,
): ControlStatus {
  return {
    pid: process.pid,
    ...bound,
    state,
    isDraining: state !== 'serving',
    openExchanges: underway.exchanges,
    openWebSockets: underway.webSockets,
    stopDeadlineMs: stop.deadlineMs,
    ...(leftMs === undefined ? {} : { leftMs: Math.round(leftMs) }),
  };
}

/** Without a configured path the socket is a convenience: a read-only file system must not prevent a start. */
async function openControl(config: Config, target: ControlTarget, logger: Logger): Promise<ControlServer | undefined> {
  const { socket } = config.control;
  try {
    return await ControlServer.open(socket ?? defaultSocketPath(process.pid), target, logger);
  } catch (error) {
    const reason = error instanceof SidecarError ? error.message : 'unknown reason';
    if (socket !== undefined) throw new StartError('D2S_ERR_CONTROL', `control.socket: ${reason}`, { cause: error });
    logger.warn({ reason }, 'no control socket: drain and shutdown will not find this sidecar, signals still reach it');
    return undefined;
  }
}
