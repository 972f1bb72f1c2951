/** `d2-sidecar` without a command: starts, logs where it listens, and stops on request. */
import { SidecarError, StartError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { platform } from '../base/platform/platform.ts';
import { type Config, findLoopbackTrust } from '../config/config.ts';
import type { GivenSocket } from '../config/host-port.ts';
import type { Lifecycle } from '../sidecar/lifecycle.ts';
import type { Reloader } from '../sidecar/reload.ts';
import type { Sidecar } from '../sidecar/sidecar.ts';
import { type Controllable, type ControlServer, openControlServer } from './control/control-server.ts';
import type { ControlStatus } from './control/protocol.ts';
import { defaultSocketPath } from './control/socket-folder.ts';
import type { ServiceManager } from './service-manager.ts';
import { STRAY_SIGNALS } from './stray-signals.ts';

export type Servable = Pick<Sidecar, 'start' | 'stop' | 'lifecycle' | keyof Controllable['sidecar']> &
  Partial<Pick<Sidecar, 'reopenLogs' | 'readWaiting'>>;

interface ServeParts<Made extends Servable> {
  readonly config: Config;
  readonly logger: Logger;
  readonly signals: SignalSource;
  readonly createSidecar: (config: Config, logger: Logger) => Promise<Made>;
  /** Logs the first lines. Called once signals are handled, so that a reader of these lines may send some. */
  readonly announce?: () => void;
  readonly manager?: ServiceManager | undefined;
  /** Listening sockets that this process was started with. */
  readonly sockets?: readonly GivenSocket[];
  /** Creates the reloader; it must call `onApplied` with each new configuration. Absent: no reloads. */
  readonly createReloader?: (sidecar: Made, onApplied: (config: Config) => void) => Pick<Reloader, 'reload'>;
  /** Work that a command does while the sidecar serves. A stop then has no delay and no window. */
  readonly task?: ServeTask;
}

export interface ServeTask {
  begin(listen: string, stop: (reason: string) => void): void;
  /** Called before each stop. */
  end(): void;
}

const NOT_RELOADED = { kind: 'refused', problems: ['this sidecar does not reload its configuration'] } as const;

/** Resolves to the exit code when the sidecar has stopped. Throws StartError (D2S_ERR_LISTEN, D2S_ERR_CONTROL). */
export async function serve<Made extends Servable>(parts: ServeParts<Made>): Promise<number> {
  const { logger, createSidecar, createReloader, announce, manager, task, sockets } = parts;
  let { config } = parts;
  const { stopSignals, hurriedSignals, reloadSignals, stopLimitsMs } = platform;
  const ofReload = createReloader === undefined ? [] : reloadSignals;
  const signals = queueSignals(parts.signals, [...stopSignals, ...STRAY_SIGNALS, ...ofReload]);
  try {
    announce?.();
    const sidecar = await createSidecar(config, logger);
    const { listen, monitor } = await sidecar.start(sockets);
    const { lifecycle } = sidecar;
    const reloader = createReloader?.(sidecar, (applied) => {
      config = applied;
    });
    const stop = (reason: string, isHurried = false, limitMs?: number) => {
      task?.end();
      manager?.stopping(config.stop.deadlineMs);
      lifecycle.stop(reason, isHurried || task !== undefined, limitMs);
    };
    const reopenAndReload = (reason: string) => {
      // Even if the configuration is unusable: logrotate, which has moved the log away, expects a new one.
      sidecar.reopenLogs?.();
      return reloader?.reload(reason);
    };
    const controllable: Controllable = {
      sidecar,
      status: () => createStatus({ listen, monitor }, lifecycle, config),
      drain: () => {
        manager?.draining();
        lifecycle.drain();
      },
      reload: async () => (await reopenAndReload('reload')) ?? NOT_RELOADED,
      shutdown: () => stop('shutdown'),
    };
    task?.begin(listen, stop);
    const control = await openControl(config, controllable, logger).catch(async (cause) => {
      await sidecar.stop();
      throw cause;
    });
    const { baseUrl } = config.upstream;
    logger.info(
      { listen, monitor, upstream: baseUrl, applications: config.applications, control: control?.path },
      'listening',
    );
    const loopbackTrust = findLoopbackTrust(config);
    if (loopbackTrust !== undefined) logger.warn({ upstream: baseUrl, listen }, loopbackTrust);
    manager?.ready({ listen, monitor });
    const ignored = new Set<string>();
    signals.handle((signal) => {
      // Ctrl-C needs no delay and no window: someone is waiting, and no load balancer needs to notice.
      if (isStop(signal)) stop(signal, hurriedSignals.includes(signal), stopLimitsMs[signal]);
      else if (reloadSignals.includes(signal)) void reopenAndReload(signal);
      else if (!ignored.has(signal)) {
        ignored.add(signal);
        logger.warn({ signal }, 'ignored a signal: SIGTERM stops this sidecar, SIGHUP reloads and reopens logs');
      }
    });
    await lifecycle.ended;
    control?.close();
    return 0;
  } finally {
    signals.dispose();
    manager?.dispose();
  }
}

function createStatus(
  bound: { readonly listen: string; readonly monitor: string },
  { state, inProgress, leftMs }: Lifecycle,
  { stop, upstream, jvm }: Config,
): ControlStatus {
  return {
    pid: process.pid,
    ...bound,
    state,
    openExchanges: inProgress.exchanges,
    openWebSockets: inProgress.webSockets,
    stopDeadlineMs: stop.deadlineMs,
    server: { host: upstream.host, port: upstream.port, pid: jvm.pid, user: jvm.user },
    ...(leftMs === undefined ? {} : { leftMs: Math.round(leftMs) }),
  };
}

/** Without a configured path the socket is a convenience: a read-only file system must not prevent a start. */
async function openControl(config: Config, sidecar: Controllable, logger: Logger): Promise<ControlServer | undefined> {
  const { socket } = config.control;
  try {
    return await openControlServer(socket ?? defaultSocketPath(process.pid), sidecar, logger);
  } catch (error) {
    const reason = error instanceof SidecarError ? error.message : 'unknown reason';
    if (socket !== undefined) throw new StartError('D2S_ERR_CONTROL', `control.socket: ${reason}`, { cause: error });
    logger.warn({ reason }, 'no control socket: drain and shutdown will not find this sidecar, signals still reach it');
    return undefined;
  }
}

type Signal = NodeJS.Signals;

export interface SignalSource {
  on(signal: Signal, listener: () => void): unknown;
  off(signal: Signal, listener: () => void): unknown;
}

/** Receives signals. Those that arrive during the start are queued, so that they do not end the process. */
export function queueSignals(source: SignalSource, signals: readonly Signal[]) {
  const queued: Signal[] = [];
  let handle = (signal: Signal): void => {
    // One reload covers all changes, and one warning all of its signal. A second SIGTERM, however, stops at once.
    if (isStop(signal) || !queued.includes(signal)) queued.push(signal);
  };
  const listeners = signals.map((signal) => [signal, () => handle(signal)] as const);
  for (const [signal, listener] of listeners) source.on(signal, listener);
  return {
    /** Calls `handler` for the queued signals, and from now on for each new one. */
    handle(handler: (signal: Signal) => void): void {
      handle = handler;
      for (const signal of queued.splice(0)) handler(signal);
    },
    dispose(): void {
      for (const [signal, listener] of listeners) source.off(signal, listener);
    },
  };
}

function isStop(signal: Signal): boolean {
  return platform.stopSignals.includes(signal);
}
