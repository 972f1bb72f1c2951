/** `d2-sidecar` itself: starts, says where it listens, and stops when asked. */
import type { Config } from '../config/config.ts';
import { ControlServer, type ControlTarget } from '../control/control-server.ts';
import { defaultSocketPath } from '../control/socket-folder.ts';
import { SidecarError, StartError } from '../errors.ts';
import type { Logger } from '../logger.ts';

/** What `sidecar.ts` makes, as far as it is needed here. */
export interface Servable {
  start(): Promise<{ readonly listen: string; readonly monitor: string }>;
  drain(): void;
  stop(): Promise<void>;
  readonly openExchanges: number;
}

/** Where SIGTERM and SIGINT come from; `process`, or a test. */
export interface SignalSource {
  on(signal: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
  off(signal: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
}

export interface ServeParts {
  readonly config: Config;
  readonly logger: Logger;
  readonly signals: SignalSource;
  readonly createSidecar: (config: Config, logger: Logger) => Promise<Servable>;
}

/** Resolves to the exit code when the sidecar has stopped. Throws StartError (D2S_ERR_LISTEN, D2S_ERR_CONTROL). */
export async function serve({ config, logger, signals, createSidecar }: ServeParts): Promise<number> {
  const requests = new StopRequests(signals);
  try {
    const sidecar = await createSidecar(config, logger);
    const { listen, monitor } = await sidecar.start();
    const status = () => ({
      pid: process.pid,
      listen,
      monitor,
      isDraining,
      openExchanges: sidecar.openExchanges,
      stopDeadlineMs: config.stop.deadlineMs,
    });
    let isDraining = false;
    const drain = () => {
      if (isDraining) return;
      isDraining = true;
      logger.info({ openExchanges: sidecar.openExchanges }, 'draining');
      sidecar.drain();
    };
    const control = await openControl(
      config,
      { status, drain, shutdown: () => requests.request('shutdown') },
      logger,
    ).catch(async (cause) => {
      await sidecar.stop();
      throw cause;
    });
    const { origin } = config.upstream;
    logger.info(
      { listen, monitor, upstream: origin, applications: config.applications, control: control?.path },
      'listening',
    );

    const reason = await requests.first;
    logger.info({ reason, openExchanges: sidecar.openExchanges, deadlineMs: config.stop.deadlineMs }, 'stopping');
    isDraining = true;
    // Who asks twice does not want to wait; the process ends with whatever is still open.
    const outcome = await Promise.race([sidecar.stop().then(() => 'stopped' as const), requests.second]);
    control?.close();
    logger.info({ openExchanges: sidecar.openExchanges }, outcome === 'stopped' ? 'stopped' : 'stopped at once');
    return 0;
  } finally {
    requests.dispose();
  }
}

/** Without a configured path the socket is a convenience: a read-only file system must not keep the sidecar from starting. */
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

/** Signals and shutdown commands, told apart by their order. */
class StopRequests {
  readonly first: Promise<string>;
  readonly second: Promise<string>;
  readonly #signals: SignalSource;
  readonly #resolvers: ((reason: string) => void)[] = [];
  readonly #onTerm = () => this.request('SIGTERM');
  readonly #onInt = () => this.request('SIGINT');

  constructor(signals: SignalSource) {
    this.#signals = signals;
    this.first = new Promise((resolve) => this.#resolvers.push(resolve));
    this.second = new Promise((resolve) => this.#resolvers.push(resolve));
    // From the very start: a signal that comes while the listeners open is not lost.
    signals.on('SIGTERM', this.#onTerm);
    signals.on('SIGINT', this.#onInt);
  }

  request(reason: string): void {
    this.#resolvers.shift()?.(reason);
  }

  dispose(): void {
    this.#signals.off('SIGTERM', this.#onTerm);
    this.#signals.off('SIGINT', this.#onInt);
  }
}
