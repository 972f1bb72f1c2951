/**
 * Tells a service manager of `Type=notify` that the process is ready, stopping, or alive (sd_notify(3)). Node.js has no
 * Unix datagram sockets, so `systemd-notify`, which comes with every systemd, sends the messages and waits until they
 * are received (`NotifyAccess=all` in the unit). Without NOTIFY_SOCKET none of this is created.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Logger } from '../base/logger.ts';
import { describeFileError } from '../base/trusted-file.ts';
import type { Environment } from '../config/environment.ts';

/** Sends one message, lines such as `READY=1`; rejects if it was not received. */
export type Notify = (lines: readonly string[]) => Promise<unknown>;

const SENDER = 'systemd-notify';
/** `systemd-notify` waits at most five seconds until the message is received. */
const SENDER_TIMEOUT_MS = 10_000;
/** Time to end beyond `stop.deadline`, for the state file and the last lines of the log. */
const STOP_GRACE_MS = 10_000;
const US_PER_MS = 1_000;
/** sd_watchdog_enabled(3) advises two pings in each period. */
const WATCHDOG_SHARE = 0.5;

export class ServiceManager {
  readonly #notify: Notify;
  readonly #logger: Logger;
  readonly #watchdogMs: number | undefined;
  #watchdog: NodeJS.Timeout | undefined;
  /** Messages other than pings are sent one at a time, in order. */
  #last: Promise<void> = Promise.resolve();
  #isPinging = false;
  #isStopping = false;
  #isFailing = false;

  /** Undefined without a service manager: the process was started by hand, by a shell or in a container. */
  static find(env: Environment, logger: Logger, notify: Notify = createNotify(env)): ServiceManager | undefined {
    if (!env.NOTIFY_SOCKET) return undefined;
    return new ServiceManager(notify, logger, parseWatchdogMs(env));
  }

  private constructor(notify: Notify, logger: Logger, watchdogMs: number | undefined) {
    this.#notify = notify;
    this.#logger = logger;
    this.#watchdogMs = watchdogMs;
  }

  ready({ listen, monitor }: { readonly listen: string; readonly monitor: string }): void {
    this.#tell('READY=1', `STATUS=serving on ${listen}, monitor on ${monitor}`);
    if (this.#watchdogMs === undefined) return;
    this.#watchdog = setInterval(() => this.#ping(), this.#watchdogMs * WATCHDOG_SHARE).unref();
  }

  draining(): void {
    this.#tell('STATUS=draining: no longer ready, still serving');
  }

  /** `deadlineMs`: how long the stop may take. Asks the manager for that much time, overriding its own limit. */
  stopping(deadlineMs: number): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    const limitUs = Math.round((deadlineMs + STOP_GRACE_MS) * US_PER_MS);
    this.#tell('STOPPING=1', `EXTEND_TIMEOUT_USEC=${limitUs}`, 'STATUS=stopping');
  }

  dispose(): void {
    clearInterval(this.#watchdog);
  }

  /** A blocked event loop sends no ping; that is what the watchdog detects. */
  #ping(): void {
    // The previous ping is still on its way: a slow manager must not get a queue of them.
    if (this.#isPinging) return;
    this.#isPinging = true;
    // Pings bypass the other messages: the process does not wait for pings, and its last messages must not either.
    void this.#send(['WATCHDOG=1']).then(() => {
      this.#isPinging = false;
    });
  }

  #tell(...lines: readonly string[]): void {
    this.#last = this.#last.then(() => this.#send(lines));
  }

  async #send(lines: readonly string[]): Promise<void> {
    try {
      await this.#notify(lines);
      this.#isFailing = false;
    } catch (error) {
      // Logged once: each ping would repeat it. The sidecar keeps serving without it.
      if (!this.#isFailing)
        this.#logger.warn({ reason: describeFileError(error) }, `${SENDER} cannot notify the service manager`);
      this.#isFailing = true;
    }
  }
}

/** Passes only these variables: others may contain secrets. */
function createNotify({ NOTIFY_SOCKET, PATH }: Environment): Notify {
  const env = { ...(NOTIFY_SOCKET === undefined ? {} : { NOTIFY_SOCKET }), ...(PATH === undefined ? {} : { PATH }) };
  const run = promisify(execFile);
  return (lines) => run(SENDER, [...lines], { env, timeout: SENDER_TIMEOUT_MS });
}

/** WATCHDOG_USEC, unless WATCHDOG_PID says that it is for another process. */
function parseWatchdogMs({ WATCHDOG_USEC = '', WATCHDOG_PID }: Environment): number | undefined {
  if (!/^[1-9]\d{0,15}$/.test(WATCHDOG_USEC)) return undefined;
  if (WATCHDOG_PID !== undefined && WATCHDOG_PID !== String(process.pid)) return undefined;
  return Number(WATCHDOG_USEC) / US_PER_MS;
}
