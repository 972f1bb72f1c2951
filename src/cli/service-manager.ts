/**
 * What a service manager that starts processes by `Type=notify` is told: ready, stopping, alive (sd_notify(3)). Node.js has no datagram
 * sockets of the Unix family, so `systemd-notify`, which comes with every systemd, sends the messages, and waits until they have been
 * taken (`NotifyAccess=all` in the unit). Without NOTIFY_SOCKET none of this is made.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Logger } from '../base/logger.ts';
import type { Environment } from '../config/environment.ts';

/** Sends one message, lines such as `READY=1`; rejects if it was not taken. */
export type Notify = (lines: readonly string[]) => Promise<unknown>;

const SENDER = 'systemd-notify';
/** It waits five seconds at most for the message to be taken. */
const SENDER_TIMEOUT_MS = 10_000;
/** What ending takes beyond `stop.deadline`: the state file, and the last lines of the log. */
const STOP_GRACE_MS = 10_000;
const US_PER_MS = 1_000;
/** As sd_watchdog_enabled(3) advises: twice in each period. */
const WATCHDOG_SHARE = 0.5;

export class ServiceManager {
  readonly #notify: Notify;
  readonly #logger: Logger;
  readonly #watchdogMs: number | undefined;
  #watchdog: NodeJS.Timeout | undefined;
  /** Pings aside, one message at a time, in the order in which they were said. */
  #last: Promise<void> = Promise.resolve();
  #isPinging = false;
  #isStopping = false;
  #isFailing = false;

  /** Undefined where no service manager wants to know: the process was started by hand, by a shell or in a container. */
  static find(env: Environment, logger: Logger, notify: Notify = toNotify(env)): ServiceManager | undefined {
    if (!env.NOTIFY_SOCKET) return undefined;
    return new ServiceManager(notify, logger, toWatchdogMs(env));
  }

  private constructor(notify: Notify, logger: Logger, watchdogMs: number | undefined) {
    this.#notify = notify;
    this.#logger = logger;
    this.#watchdogMs = watchdogMs;
  }

  /** Both listeners are open. */
  ready({ listen, monitor }: { readonly listen: string; readonly monitor: string }): void {
    this.#tell('READY=1', `STATUS=serving on ${listen}, monitor on ${monitor}`);
    if (this.#watchdogMs === undefined) return;
    this.#watchdog = setInterval(() => this.#ping(), this.#watchdogMs * WATCHDOG_SHARE).unref();
  }

  draining(): void {
    this.#tell('STATUS=draining: not ready any more, still serving');
  }

  /** `deadlineMs`: how long that may take; the manager is asked for so much, whatever its own limit is. */
  stopping(deadlineMs: number): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    const limitUs = Math.round((deadlineMs + STOP_GRACE_MS) * US_PER_MS);
    this.#tell('STOPPING=1', `EXTEND_TIMEOUT_USEC=${limitUs}`, 'STATUS=stopping');
  }

  /** What is on its way is sent all the same, by a process of its own. */
  dispose(): void {
    clearInterval(this.#watchdog);
  }

  /** A loop that stands still sends none, which is the point. */
  #ping(): void {
    // The one before is still on its way: what is slow to take messages gets no queue of them.
    if (this.#isPinging) return;
    this.#isPinging = true;
    // Past the others: the end of the process waits for nobody, and what it has to say must not wait for a ping.
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
      // Once: the watchdog would say it again and again. And who serves goes on, whether somebody knows it or not.
      if (!this.#isFailing) this.#logger.warn({ reason: toReason(error) }, `${SENDER} cannot tell the service manager`);
      this.#isFailing = true;
    }
  }
}

/** Nothing else of the environment: it may hold keys. */
function toNotify({ NOTIFY_SOCKET, PATH }: Environment): Notify {
  const env = { ...(NOTIFY_SOCKET === undefined ? {} : { NOTIFY_SOCKET }), ...(PATH === undefined ? {} : { PATH }) };
  const run = promisify(execFile);
  return (lines) => run(SENDER, [...lines], { env, timeout: SENDER_TIMEOUT_MS });
}

/** WATCHDOG_USEC, unless it is meant for another process (WATCHDOG_PID). */
function toWatchdogMs({ WATCHDOG_USEC = '', WATCHDOG_PID }: Environment): number | undefined {
  if (!/^[1-9]\d{0,15}$/.test(WATCHDOG_USEC)) return undefined;
  if (WATCHDOG_PID !== undefined && WATCHDOG_PID !== String(process.pid)) return undefined;
  return Number(WATCHDOG_USEC) / US_PER_MS;
}

/** `ENOENT` where there is no such program, or its exit code. */
function toReason(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
}
