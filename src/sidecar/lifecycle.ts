/**
 * The life of a sidecar: `starting`, `serving`, `draining`, `stopping`, `stopped`, in this order and never back. It
 * ends by `drain` followed by `stop`, or by `stop` alone:
 *
 * | State      | Begins with                        | Readiness | New connections | Answers             | Ends                      |
 * |------------|------------------------------------|-----------|-----------------|---------------------|---------------------------|
 * | `draining` | `drain`, or the first `stop`       | 503       | served          | `Connection: close` | see `#run`                |
 * | `stopping` | `stop`, with delay and window over | 503       | refused         | `Connection: close` | nothing left, or deadline |
 *
 * This file knows times and counts of what is under way, not connections. Liveness stays on until the end.
 */

import { setTimeout as delay, setImmediate as turnOfLoop } from 'node:timers/promises';
import { type Clock, MS_PER_S, NS_PER_MS } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { gauge, type MetricDescription } from '../base/metric-description.ts';

type LifecycleState = 'starting' | 'serving' | 'draining' | 'stopping' | 'stopped';

export interface StopTimes {
  /** From readiness off to the first connection that is closed: the time that others need to notice. */
  readonly delayMs: number;
  /** From then on: WebSockets are closed spread over this time, and held long polls may end by themselves. */
  readonly windowMs: number;
  /** From the first request to stop until the end, whatever is still open. */
  readonly deadlineMs: number;
}

export interface Underway {
  readonly exchanges: number;
  /** The held long polls among these; they have no end to wait for. */
  readonly heldPolls: number;
  readonly webSockets: number;
  /** Client connections, without the WebSockets. */
  readonly connections: number;
}

export interface Stoppable {
  underway(): Underway;
  /** From now on, every answer announces that it is the last one on its connection. */
  announceEnd(): void;
  /** Closes the WebSockets, spread over `overMs`. A second call replaces the first. */
  letWebSocketsGo(overMs: number): void;
  /** Accepts no new connection. Resolves when the backlog that the kernel has already accepted is taken. */
  stopListening(): Promise<void>;
  /** Closes connections that have been silent for `quietMs` and have nothing under way. */
  closeIdle(quietMs: number): void;
  /** Cuts everything that is left. */
  end(): Promise<void>;
}

type Outcome = 'stopped' | 'stopped at once';

const POLL_MS = 25;
/**
 * Answers tell an active client to leave. Closing an idle connection can cross with its next request, so only
 * connections that have been silent for longer than programs pause are closed.
 */
const QUIET_MS = 1_000;
/** Time before the deadline that is reserved for late calls and for closing handshakes. */
const RESERVED_MS = 3_000;
const RESERVED_SHARE = 0.25;

export interface Life {
  readonly state: LifecycleState;
  /** Time until the deadline; undefined until a stop is requested. */
  readonly leftMs: number | undefined;
  readonly underway: Underway;
  /** Settles when the sidecar has ended; rejects with the error of ending it. */
  readonly ended: Promise<Outcome>;
  /** Lets clients go, and keeps serving until a stop is requested. A second call changes nothing. */
  drain(): void;
  /**
   * Stops. `isHurried`: without delay and window, for a person who waits; exchanges may still end. A second call ends
   * at once.
   */
  stop(reason: string, isHurried?: boolean): void;
}

interface LifecycleParts {
  /** Called each time that a phase begins, since a reload may have changed the times. */
  readonly times: () => StopTimes;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pause?: (ms: number) => Promise<void>;
}

export class Lifecycle implements Life {
  readonly ended: Promise<Outcome>;
  readonly #target: Stoppable;
  readonly #times: () => StopTimes;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #pause: (ms: number) => Promise<void>;
  readonly #hasStarted = new Moment();
  readonly #isDrainAsked = new Moment();
  readonly #isStopAsked = new Moment();
  readonly #isEndAsked = new Moment();
  #state: LifecycleState = 'starting';
  #isHurried = false;
  #delayEndNs = 0;
  #deadlineNs = Number.POSITIVE_INFINITY;
  #latestWindowEndNs = Number.POSITIVE_INFINITY;

  constructor(target: Stoppable, { times, clock, logger, pause = pauseAndRead }: LifecycleParts) {
    this.#target = target;
    this.#times = times;
    this.#clock = clock;
    this.#logger = logger;
    this.#pause = pause;
    this.ended = Promise.race([this.#run(), this.#endAtOnce()]);
    // Callers that await it get the rejection; without callers it must not be unhandled.
    this.ended.catch(() => undefined);
  }

  get state(): LifecycleState {
    return this.#state;
  }

  get underway(): Underway {
    return this.#target.underway();
  }

  get leftMs(): number | undefined {
    if (!this.#isStopAsked.isReached) return undefined;
    return Math.max(0, (this.#deadlineNs - this.#clock.nowNs()) / NS_PER_MS);
  }

  started(): void {
    this.#state = 'serving';
    this.#hasStarted.reach();
  }

  drain(): void {
    this.#isDrainAsked.reach();
    // The caller may read the state right after this call.
    if (this.#state === 'serving') this.#letClientsGo();
  }

  stop(reason: string, isHurried = false): void {
    if (this.#isStopAsked.isReached) {
      this.#isEndAsked.reach();
      return;
    }
    const { deadlineMs } = this.#times();
    this.#isHurried = isHurried;
    this.#deadlineNs = this.#nsFromNow(deadlineMs);
    this.#latestWindowEndNs = this.#nsFromNow(deadlineMs - Math.min(RESERVED_MS, deadlineMs * RESERVED_SHARE));
    this.#logger.info({ reason, deadlineMs }, 'asked to stop');
    this.#isStopAsked.reach();
    this.drain();
  }

  async #run(): Promise<Outcome> {
    await this.#hasStarted.reached;
    await this.#isDrainAsked.reached;
    if (this.#state === 'serving') this.#letClientsGo();
    // New clients still arrive here, because others do not know yet.
    await this.#until(this.#delayEndNs, () => this.#isHurried);

    const { windowMs } = this.#times();
    const windowEndNs = this.#nsFromNow(windowMs);
    this.#target.letWebSocketsGo(windowMs);
    await this.#isStopAsked.reached;
    await this.#until(Math.min(windowEndNs, this.#latestWindowEndNs), () => this.#isHurried || this.#isNobodyHeld());

    this.#enter('stopping');
    await this.#target.stopListening();
    await this.#until(this.#deadlineNs, () => this.#isNothingLeft());

    await this.#target.end();
    this.#enter('stopped');
    return 'stopped';
  }

  /** A second request to stop means: do not wait. The process then ends with whatever is still open. */
  async #endAtOnce(): Promise<Outcome> {
    await this.#isEndAsked.reached;
    this.#logger.info(this.underway, 'stopped at once');
    return 'stopped at once';
  }

  #letClientsGo(): void {
    this.#enter('draining');
    this.#delayEndNs = this.#nsFromNow(this.#times().delayMs);
    this.#target.announceEnd();
  }

  #enter(state: LifecycleState): void {
    this.#state = state;
    // The process is about to exit, and has logged that.
    if (this.#isEndAsked.isReached) return;
    const { leftMs } = this;
    this.#logger.info({ ...this.underway, ...(leftMs === undefined ? {} : { leftMs: Math.round(leftMs) }) }, state);
  }

  #isNobodyHeld(): boolean {
    const { heldPolls, webSockets } = this.underway;
    return heldPolls === 0 && webSockets === 0;
  }

  #isNothingLeft(): boolean {
    // Each time: some connections may have been about to become WebSockets.
    this.#target.letWebSocketsGo(0);
    this.#target.closeIdle(this.#isHurried ? 0 : QUIET_MS);
    const { connections, heldPolls, webSockets } = this.underway;
    // `heldPolls` includes polls over WebSockets. Only without WebSockets is each held poll one of the connections.
    return webSockets === 0 && connections <= heldPolls;
  }

  #nsFromNow(ms: number): number {
    return this.#clock.nowNs() + ms * NS_PER_MS;
  }

  async #until(thenNs: number, isOver: () => boolean): Promise<void> {
    const isTimeOver = () => this.#clock.nowNs() >= Math.min(thenNs, this.#deadlineNs);
    while (!isTimeOver() && !isOver()) {
      await this.#pause(POLL_MS);
    }
  }
}

/** Reads pending input after the pause, so that no connection with a request in the kernel is closed as idle. */
async function pauseAndRead(ms: number): Promise<void> {
  await delay(ms);
  await turnOfLoop();
}

class Moment {
  readonly reached: Promise<void>;
  #resolve: () => void = () => undefined;
  #isReached = false;

  constructor() {
    this.reached = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get isReached(): boolean {
    return this.#isReached;
  }

  reach(): void {
    this.#isReached = true;
    this.#resolve();
  }
}

export const LIFECYCLE_METRICS: readonly MetricDescription<Pick<Lifecycle, 'state' | 'leftMs'>>[] = [
  gauge('d2_sidecar_draining', 'Whether it drains, and is not ready.', ({ state }) => Number(state !== 'serving')),
  gauge(
    'd2_sidecar_stop_left_seconds',
    'Time to the deadline of a stop; absent otherwise.',
    ({ leftMs }) => leftMs && leftMs / MS_PER_S,
  ),
];
