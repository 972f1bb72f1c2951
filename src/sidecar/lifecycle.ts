/**
 * The life of a sidecar: `starting`, `serving`, `draining`, `stopping`, `stopped`, in this order and never back. It
 * ends by `drain` followed by `stop`, or by `stop` alone; docs/reliability.md says what each state does. This file knows
 * times and counts, not connections.
 */

import { setTimeout as delay, setImmediate as turnOfLoop } from 'node:timers/promises';
import { type Clock, MS_PER_S, NS_PER_MS } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { gauge, type MetricDescription } from '../base/metric-description.ts';
import type { Config } from '../config/config.ts';

type LifecycleState = 'starting' | 'serving' | 'draining' | 'stopping' | 'stopped';

/**
 * Delay: from turning unready to closing the first connection, so that load balancers can notice. Window: after the
 * delay, WebSockets are closed one by one, and held long polls may end on their own. Deadline: from the first stop
 * request to the end, whatever is still open.
 */
export type StopTimes = Config['stop'];

export interface InProgress {
  readonly exchanges: number;
  /** The held long polls among these; nobody knows when they end. */
  readonly heldPolls: number;
  readonly webSockets: number;
  /** Client connections, without the WebSockets. */
  readonly connections: number;
}

export interface Stoppable {
  inProgress(): InProgress;
  /** Whether new clients wait in the kernel for the next process: then a stop has no delay and no window. */
  outlivesProcess(): boolean;
  /** From now on, every answer has `Connection: close`. */
  announceEnd(): void;
  /** Closes the WebSockets one by one over `overMs`. A second call replaces the first. */
  closeWebSockets(overMs: number): void;
  /** Refuses new connections. Resolves when those in the kernel's backlog have been accepted. */
  stopListening(): Promise<void>;
  /** Closes connections without an exchange that have been silent for `quietMs`. */
  closeIdle(quietMs: number): void;
  /** Cuts everything that is left. */
  end(): Promise<void>;
}

type Outcome = 'stopped' | 'stopped at once';

const POLL_MS = 25;
/**
 * `Connection: close` makes active clients leave. Closing an idle connection may cross with its next request, so only
 * connections that are silent for longer than programs usually pause are closed.
 */
const QUIET_MS = 1_000;
/** Time before the deadline that is reserved for late calls and for closing handshakes. */
const RESERVED_MS = 3_000;
const RESERVED_SHARE = 0.25;

interface LifecycleParts {
  /** Called at the beginning of each phase, since a reload may have changed the times. */
  readonly times: () => StopTimes;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pause?: (ms: number) => Promise<void>;
}

export class Lifecycle {
  /** Settles when the sidecar has ended; rejects with the error of ending it. */
  readonly ended: Promise<Outcome>;
  state: LifecycleState = 'starting';
  readonly #stoppable: Stoppable;
  readonly #parts: Required<LifecycleParts>;
  readonly #hasStarted = new Latch();
  readonly #drainRequested = new Latch();
  readonly #stopRequested = new Latch();
  readonly #endRequested = new Latch();
  #isHurried = false;
  /** No load balancer needs to notice, or nobody waits for that. */
  #waitsForNobody = false;
  #delayEndNs = 0;
  #deadlineNs = Number.POSITIVE_INFINITY;
  #latestWindowEndNs = Number.POSITIVE_INFINITY;

  constructor(stoppable: Stoppable, parts: LifecycleParts) {
    this.#stoppable = stoppable;
    this.#parts = { pause: pauseAndRead, ...parts };
    this.ended = Promise.race([this.#run(), this.#endAtOnce()]);
    // Callers that await it get the rejection; without any, it must not be unhandled.
    this.ended.catch(() => undefined);
  }

  get inProgress(): InProgress {
    return this.#stoppable.inProgress();
  }

  /** Time until the deadline; undefined until a stop is requested. */
  get leftMs(): number | undefined {
    if (!this.#stopRequested.isSet) return undefined;
    return Math.max(0, (this.#deadlineNs - this.#parts.clock.nowNs()) / NS_PER_MS);
  }

  started(): void {
    this.state = 'serving';
    this.#hasStarted.set();
  }

  /** Makes clients leave, and keeps serving until a stop is requested. A second call changes nothing. */
  drain(): void {
    this.#drainRequested.set();
    // The caller may read the state right after this call.
    if (this.state === 'serving') this.#beginDraining();
  }

  /**
   * Stops. `isHurried`: without delay and window, because someone is waiting; exchanges may still end, for `limitMs` at
   * most. A second call ends at once.
   */
  stop(reason: string, isHurried = false, limitMs = Number.POSITIVE_INFINITY): void {
    if (this.#stopRequested.isSet) {
      this.#endRequested.set();
      return;
    }
    const deadlineMs = Math.min(this.#parts.times().deadlineMs, limitMs);
    this.#isHurried = isHurried;
    this.#waitsForNobody = isHurried || this.#stoppable.outlivesProcess();
    this.#deadlineNs = this.#nsFromNow(deadlineMs);
    this.#latestWindowEndNs = this.#nsFromNow(deadlineMs - Math.min(RESERVED_MS, deadlineMs * RESERVED_SHARE));
    this.#parts.logger.info({ reason, deadlineMs }, 'stop requested');
    this.#stopRequested.set();
    this.drain();
  }

  async #run(): Promise<Outcome> {
    await this.#hasStarted.whenSet;
    await this.#drainRequested.whenSet;
    if (this.state === 'serving') this.#beginDraining();
    // New clients still arrive until load balancers have noticed.
    await this.#until(this.#delayEndNs, () => this.#waitsForNobody);

    const { windowMs } = this.#parts.times();
    const windowEndNs = this.#nsFromNow(windowMs);
    this.#stoppable.closeWebSockets(windowMs);
    await this.#stopRequested.whenSet;
    await this.#until(
      Math.min(windowEndNs, this.#latestWindowEndNs),
      () => this.#waitsForNobody || this.inProgress.heldPolls + this.inProgress.webSockets === 0,
    );

    this.#enter('stopping');
    await this.#stoppable.stopListening();
    await this.#until(this.#deadlineNs, () => this.#isNothingLeft());

    await this.#stoppable.end();
    this.#enter('stopped');
    return 'stopped';
  }

  /** A second stop request ends the process at once, whatever is still open. */
  async #endAtOnce(): Promise<Outcome> {
    await this.#endRequested.whenSet;
    this.#parts.logger.info(this.inProgress, 'stopped at once');
    return 'stopped at once';
  }

  #beginDraining(): void {
    this.#enter('draining');
    this.#delayEndNs = this.#nsFromNow(this.#parts.times().delayMs);
    this.#stoppable.announceEnd();
  }

  #enter(state: LifecycleState): void {
    this.state = state;
    // `#endAtOnce` has logged the end.
    if (this.#endRequested.isSet) return;
    const { leftMs } = this;
    this.#parts.logger.info(
      { ...this.inProgress, ...(leftMs === undefined ? {} : { leftMs: Math.round(leftMs) }) },
      state,
    );
  }

  #isNothingLeft(): boolean {
    // Repeated, because exchanges may have become WebSockets since.
    this.#stoppable.closeWebSockets(0);
    this.#stoppable.closeIdle(this.#isHurried ? 0 : QUIET_MS);
    const { connections, heldPolls, webSockets } = this.inProgress;
    // `heldPolls` includes polls over WebSockets. Only without WebSockets is each held poll one of the connections.
    return webSockets === 0 && connections <= heldPolls;
  }

  #nsFromNow(ms: number): number {
    return this.#parts.clock.nowNs() + ms * NS_PER_MS;
  }

  async #until(thenNs: number, isOver: () => boolean): Promise<void> {
    const isTimeOver = () => this.#parts.clock.nowNs() >= Math.min(thenNs, this.#deadlineNs);
    while (!isTimeOver() && !isOver()) await this.#parts.pause(POLL_MS);
  }
}

/** Reads pending input after the pause, so that no connection with a request in the kernel is closed as idle. */
async function pauseAndRead(ms: number): Promise<void> {
  await delay(ms);
  await turnOfLoop();
}

/** An event that happens once. */
class Latch {
  isSet = false;
  set: () => void = () => undefined;
  readonly whenSet = new Promise<void>((resolve) => {
    this.set = () => {
      this.isSet = true;
      resolve();
    };
  });
}

export const LIFECYCLE_METRICS: readonly MetricDescription<Pick<Lifecycle, 'state' | 'leftMs'>>[] = [
  gauge('d2_sidecar_draining', 'Whether the sidecar is draining.', ({ state }) => Number(state !== 'serving')),
  gauge(
    'd2_sidecar_stop_left_seconds',
    'Time to the deadline of a stop; absent otherwise.',
    ({ leftMs }) => leftMs && leftMs / MS_PER_S,
  ),
];
