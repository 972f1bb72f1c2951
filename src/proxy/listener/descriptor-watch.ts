import { closeSync, openSync } from 'node:fs';
import { type Clock, NS_PER_S } from '../../base/clock.ts';
import { readMaxDescriptors } from '../../base/descriptors.ts';
import type { Logger } from '../../base/logger.ts';

const CHECK_MS = 1_000;
const LOG_INTERVAL_NS = 10 * NS_PER_S;

/**
 * Notices when no file descriptor is left: Node then accepts a client and closes it at once, without an event. Opens
 * and closes a file each second, which takes 20 µs.
 */
export class DescriptorWatch {
  readonly #parts: { readonly clock: Clock; readonly logger: Logger; readonly open: () => number };
  /** How many checks found none: about the number of seconds in which clients were refused without an event. */
  shortages = 0;
  #isShort = false;
  #loggedNs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(clock: Clock, logger: Logger, open: () => number = () => openSync('/', 'r')) {
    this.#parts = { clock, logger, open };
  }

  start(): void {
    this.#timer ??= setInterval(() => this.check(), CHECK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  check(): void {
    try {
      closeSync(this.#parts.open());
    } catch (cause) {
      this.#onFailed((cause as NodeJS.ErrnoException).code);
      return;
    }
    if (!this.#isShort) return;
    this.#isShort = false;
    this.#parts.logger.info({ shortages: this.shortages }, 'file descriptors are available again');
  }

  #onFailed(code: string | undefined): void {
    if (code !== 'EMFILE' && code !== 'ENFILE') return;
    this.shortages += 1;
    const nowNs = this.#parts.clock.nowNs();
    // Logs at most one line per interval, and the end only if the beginning was logged.
    if (nowNs - this.#loggedNs < LOG_INTERVAL_NS) return;
    this.#isShort = true;
    this.#loggedNs = nowNs;
    this.#parts.logger.error(
      { code, shortages: this.shortages },
      'no file descriptor is left: clients are refused, and calls answered with 503; raise the limit (LimitNOFILE, ulimit -n)',
    );
  }
}

/** Each client connection has one upstream connection. */
const DESCRIPTORS_PER_CONNECTION = 2;

/** For all else: some 25 after the start, the monitoring port, the control socket, the JVM's files, the log. */
const RESERVED_DESCRIPTORS = 64;

/** How many clients `descriptors` suffice for; at least 1. */
export function connectionsFor(descriptors: number): number {
  return Math.max(1, Math.floor((descriptors - RESERVED_DESCRIPTORS) / DESCRIPTORS_PER_CONNECTION));
}

/**
 * `maxConnections`, or what the descriptors suffice for: without descriptors, clients are refused without an event,
 * calls fail, and the monitoring port cannot say why.
 */
export function capByDescriptors(maxConnections: number, logger: Logger): number {
  const limit = readMaxDescriptors() ?? Number.POSITIVE_INFINITY;
  const connections = connectionsFor(limit);
  if (connections >= maxConnections) return maxConnections;
  const needed = maxConnections * DESCRIPTORS_PER_CONNECTION;
  if (limit < needed) {
    logger.warn(
      { openFiles: limit, needed, connections },
      'limits.connections needs more open files than the process may have, so fewer connections are accepted: raise the limit (LimitNOFILE, ulimit -n), or lower limits.connections',
    );
  }
  return connections;
}
