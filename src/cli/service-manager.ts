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

export type ServiceManager = ReturnType<typeof createServiceManager>;

/** Undefined without a service manager: the process was started by hand, by a shell or in a container. */
export function findServiceManager(
  env: Environment,
  logger: Logger,
  notify: Notify = createNotify(env),
): ServiceManager | undefined {
  return env.NOTIFY_SOCKET ? createServiceManager(notify, logger, parseWatchdogMs(env)) : undefined;
}

function createServiceManager(notify: Notify, logger: Logger, watchdogMs: number | undefined) {
  let watchdog: NodeJS.Timeout | undefined;
  /** Messages other than pings are sent one at a time, in order. */
  let last: Promise<void> = Promise.resolve();
  let [isPinging, isStopping, isFailing] = [false, false, false];
  const send = async (lines: readonly string[]): Promise<void> => {
    try {
      await notify(lines);
      isFailing = false;
    } catch (error) {
      // Logged once: each ping would repeat it. The sidecar keeps serving without it.
      if (!isFailing) logger.warn({ reason: describeFileError(error) }, `${SENDER} cannot notify the service manager`);
      isFailing = true;
    }
  };
  const tell = (...lines: readonly string[]) => {
    last = last.then(() => send(lines));
  };
  /** A blocked event loop sends no ping; that is what the watchdog detects. */
  const ping = async () => {
    // The previous ping is still on its way: a slow manager must not get a queue of them.
    if (isPinging) return;
    isPinging = true;
    // Pings bypass the other messages: the process does not wait for pings, and its last messages must not either.
    await send(['WATCHDOG=1']);
    isPinging = false;
  };
  return {
    ready({ listen, monitor }: { readonly listen: string; readonly monitor: string }): void {
      tell('READY=1', `STATUS=serving on ${listen}, monitor on ${monitor}`);
      if (watchdogMs !== undefined) watchdog = setInterval(() => void ping(), watchdogMs * WATCHDOG_SHARE).unref();
    },
    draining: () => tell('STATUS=draining: no longer ready, still serving'),
    /** `deadlineMs`: how long the stop may take. Asks the manager for that much time, overriding its own limit. */
    stopping(deadlineMs: number): void {
      if (isStopping) return;
      isStopping = true;
      const limitUs = Math.round((deadlineMs + STOP_GRACE_MS) * US_PER_MS);
      tell('STOPPING=1', `EXTEND_TIMEOUT_USEC=${limitUs}`, 'STATUS=stopping');
    },
    dispose: () => clearInterval(watchdog),
  };
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
