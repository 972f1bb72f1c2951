/**
 * The life of a sidecar, from its start to its end: `starting`, `serving`, `draining`, `stopping`, `stopped`, in this order and
 * never back. There are two ways in, and one way through:
 *
 * | State      | Begins with                           | Readiness | New connections | Answers             | Ends                      |
 * |------------|---------------------------------------|-----------|-----------------|---------------------|---------------------------|
 * | `draining` | `drain`, or the first wish to stop    | 503       | served          | `Connection: close` | see `#run`                |
 * | `stopping` | a wish to stop, delay and window over | 503       | refused         | `Connection: close` | nothing left, or deadline |
 *
 * Knows times, and what is still under way; not what a connection is. Liveness is not its matter: it stays on until the end.
 */
import { setTimeout as delay, setImmediate as turnOfLoop } from 'node:timers/promises';
import { type Clock, NS_PER_MS } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';

export const LIFECYCLE_STATES = ['starting', 'serving', 'draining', 'stopping', 'stopped'] as const;

export type LifecycleState = (typeof LIFECYCLE_STATES)[number];

export interface StopTimes {
  /** From readiness off to the first connection that is let go: as long as others need to learn of it. */
  readonly delayMs: number;
  /** From then on: WebSockets are closed spread over it, and held long polls may come to their end. */
  readonly windowMs: number;
  /** From the first wish to stop to the end, whatever is still open. */
  readonly deadlineMs: number;
}

/** What has not come to its end yet. */
export interface Underway {
  readonly exchanges: number;
  /** Of these, the held long polls: they have no end to wait for. */
  readonly heldPolls: number;
  readonly webSockets: number;
  /** Client connections without the WebSockets. */
  readonly connections: number;
}

/** Who lives this life: the sidecar. */
export interface Stoppable {
  underway(): Underway;
  /** From now on every answer says that it is the last one on its connection. */
  announceEnd(): void;
  /** Closes the WebSockets, spread over the time. A second call replaces the first. */
  letWebSocketsGo(overMs: number): void;
  /** Accepts no new connection; resolves when none is left that was accepted and not taken. */
  stopListening(): Promise<void>;
  /** Closes connections on which nothing has been asked for that long, and nothing is under way. */
  closeIdle(quietMs: number): void;
  /** Ends whatever is left. */
  end(): Promise<void>;
}

export type Outcome = 'stopped' | 'stopped at once';

/** How often it is looked whether all is over. */
const POLL_MS = 25;
/**
 * Whoever asks now and then is asked to leave by an answer, which he cannot misunderstand; the end of an idle connection may
 * cross with his next request. So only those are ended that have been silent for longer than programs pause.
 */
const QUIET_MS = 1_000;
/** Of the time until the deadline, what is kept for calls that came late and for closing handshakes. */
const RESERVED_MS = 3_000;
const RESERVED_SHARE = 0.25;

/** A life as others see and end it. */
export interface Life {
  readonly state: LifecycleState;
  /** Until the deadline; undefined until somebody has asked to stop. */
  readonly leftMs: number | undefined;
  readonly underway: Underway;
  /** Settles when the sidecar has ended; rejects with what ending it throws. */
  readonly ended: Promise<Outcome>;
  /** The first way in: lets clients go, and serves on until somebody asks to stop. A second one changes nothing. */
  drain(): void;
  /**
   * The second way in. `isHurried`: without delay and window, for somebody who waits for it; exchanges may come to their end all
   * the same. Asked a second time it ends at once.
   */
  stop(reason: string, isHurried?: boolean): void;
}

export interface LifecycleParts {
  /** Asked whenever one begins: it may have become another since the start. */
  readonly times: () => StopTimes;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Between two looks whether something is over; for tests. */
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
    // Whoever waits for it hears of a failure; nobody has to.
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

  /** To be called once the listeners are open. */
  started(): void {
    this.#state = 'serving';
    this.#hasStarted.reach();
  }

  drain(): void {
    this.#isDrainAsked.reach();
    // Whoever asks may look at once whether it does.
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

  /** The whole life, from top to bottom. */
  async #run(): Promise<Outcome> {
    await this.#hasStarted.reached;
    await this.#isDrainAsked.reached;
    if (this.#state === 'serving') this.#letClientsGo();
    // Others still send new clients here: they do not know yet.
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

  /** Who asks twice does not want to wait; the process ends with whatever is still open. */
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
    // The process is about to go, and has said so.
    if (this.#isEndAsked.isReached) return;
    const { leftMs } = this;
    this.#logger.info({ ...this.underway, ...(leftMs === undefined ? {} : { leftMs: Math.round(leftMs) }) }, state);
  }

  #isNobodyHeld(): boolean {
    const { heldPolls, webSockets } = this.underway;
    return heldPolls === 0 && webSockets === 0;
  }

  #isNothingLeft(): boolean {
    // Each time: some may have been about to become WebSockets.
    this.#target.letWebSocketsGo(0);
    this.#target.closeIdle(this.#isHurried ? 0 : QUIET_MS);
    const { connections, heldPolls, webSockets } = this.underway;
    // A poll over a WebSocket is held as well: only without those each held poll is one of the connections.
    return webSockets === 0 && connections <= heldPolls;
  }

  #nsFromNow(ms: number): number {
    return this.#clock.nowNs() + ms * NS_PER_MS;
  }

  /** Until then, or the deadline, or `isOver`. */
  async #until(thenNs: number, isOver: () => boolean): Promise<void> {
    const isTimeOver = () => this.#clock.nowNs() >= Math.min(thenNs, this.#deadlineNs);
    while (!isTimeOver() && !isOver()) {
      await this.#pause(POLL_MS);
    }
  }
}

/** What has come meanwhile is read before it ends: nothing is closed for being idle with a request in the kernel. */
async function pauseAndRead(ms: number): Promise<void> {
  await delay(ms);
  await turnOfLoop();
}

/** Something that happens once. */
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
