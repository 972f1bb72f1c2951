/**
 * Limits how long costly reads hold the event loop: large heads, full reads of bodies, handshakes of
 * WebSockets. Without a limit, each of a thousand clients gets its milliseconds before any other client gets its
 * microseconds. Small requests never wait here.
 */
import { type Clock, NS_PER_MS } from '../base/clock.ts';
import { addressKeyOf } from './address-counts.ts';

/** In each turn of the event loop. */
const MAX_TURN_NS = 4 * NS_PER_MS;

/** Maximum factor for a cost that was stated too low. */
const MAX_FACTOR = 32;

interface Waiting {
  /** What `run` will about cost after its return: the next read of a connection. */
  readonly costNs: number;
  readonly run: () => void;
}

export class HeavyWork {
  readonly clock: Clock;
  /** Waiting work by client, in the order of their next turns. */
  readonly #lanes = new Map<string, Waiting[]>();
  #isTurn = false;
  #beganNs = 0;
  /** Costs that were stated in the last turn, and when their work could begin. */
  #statedNs = 0;
  #statedAtNs = 0;
  /** Recent real costs, divided by the stated ones. */
  #factor = 1;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** False if the time of this turn is used up, or other work waits already. */
  get mayRun(): boolean {
    if (this.#lanes.size > 0) return false;
    const nowNs = this.clock.nowNs();
    if (!this.#isTurn) this.#beginTurn(nowNs);
    return nowNs - this.#beganNs < MAX_TURN_NS;
  }

  /** Calls `run` in a later turn. Clients take turns, so that many connections of one do not keep others waiting. */
  wait(client: string, costNs: number, run: () => void): void {
    const lane = this.#lanes.get(client);
    if (lane === undefined) this.#lanes.set(client, [{ costNs, run }]);
    else lane.push({ costNs, run });
    if (!this.#isTurn) this.#beginTurn(this.clock.nowNs());
  }

  #beginTurn(nowNs: number): void {
    this.#isTurn = true;
    this.#beganNs = nowNs;
    // Immediates run once all readable sockets have been read.
    setImmediate(this.#onTurnEnd);
  }

  readonly #onTurnEnd = (): void => {
    this.#isTurn = false;
    const beganNs = this.clock.nowNs();
    if (this.#statedNs > 0) {
      // Stated costs omit the kernel's part of a read, and other programs on the core.
      const factor = (this.#factor + (beganNs - this.#statedAtNs) / this.#statedNs) / 2;
      this.#factor = Math.min(MAX_FACTOR, Math.max(1, factor));
      this.#statedNs = 0;
    }
    if (this.#lanes.size === 0) return;
    let costNs = 0;
    // A lane that is added again runs again in this loop.
    for (const [client, lane] of this.#lanes) {
      const next = lane.shift() as Waiting;
      this.#lanes.delete(client);
      if (lane.length > 0) this.#lanes.set(client, lane);
      next.run();
      costNs += next.costNs;
      if (this.clock.nowNs() - beganNs + this.#factor * costNs >= MAX_TURN_NS) break;
    }
    this.#statedNs = costNs;
    this.#statedAtNs = this.clock.nowNs();
    if (this.#lanes.size > 0 && !this.#isTurn) this.#beginTurn(beganNs);
  };
}

/** Smaller heads are read at once. */
const HEAVY_HEAD_BYTES = 4 * 1024;
/** Below TLS's records of 16 KiB. */
const HEAVY_READ_BYTES = 8 * 1024;

/** The turns of one connection among those with heavy work. */
export class ClientTurn {
  readonly #work: HeavyWork;
  readonly #client: string;
  readonly #onTurn: () => void;
  /** Nothing more is read or begun until `onTurn`. */
  isWaiting = false;
  #isGranted = false;
  #hasEnded = false;

  constructor(work: HeavyWork, client: string, onTurn: () => void) {
    this.#work = work;
    this.#client = client;
    this.#onTurn = onTurn;
  }

  /** Call before a read of `bytes` is handled, and pass the result to `endRead`. */
  beginRead(bytes: Buffer): number {
    return bytes.length < HEAVY_READ_BYTES ? 0 : this.#work.clock.nowNs();
  }

  /** True if the connection has to wait before its next read. */
  endRead(sinceNs: number): boolean {
    if (sinceNs === 0 || this.isWaiting || this.#hasEnded || this.#work.mayRun) return false;
    this.#wait(this.#work.clock.nowNs() - sinceNs);
    return true;
  }

  /** True if what has come has to wait: a head of `headBytes`, or with `isCostly` one whose request is. */
  mustWait(headBytes: number, isCostly = false): boolean {
    if (this.isWaiting) return true;
    if (this.#isGranted || (!isCostly && headBytes < HEAVY_HEAD_BYTES) || this.#work.mayRun) return false;
    this.#wait(0);
    return true;
  }

  /** The connection is over, or has another owner: it gets no turn any more. */
  end(): void {
    this.#hasEnded = true;
  }

  #wait(costNs: number): void {
    this.isWaiting = true;
    this.#work.wait(addressKeyOf(this.#client), costNs, this.#run);
  }

  readonly #run = (): void => {
    this.isWaiting = false;
    if (this.#hasEnded) return;
    this.#isGranted = true;
    try {
      this.#onTurn();
    } finally {
      this.#isGranted = false;
    }
  };
}
