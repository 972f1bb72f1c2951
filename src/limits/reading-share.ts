/**
 * Limits how much of the event loop's time goes into reading observed traffic: a fifth of any 100 ms, however much
 * clients send. The rest is for passing traffic on.
 *
 * While there is time, a reading runs at once, inside the call that brought its bytes. Otherwise it waits in the queue
 * (lane) of its client. So the traffic of one client is read in the order in which it passed. The lanes alternate after
 * each step. If a reading must wait and there is no memory for it, its bytes pass unread (`giveUp`).
 */
import { type Clock, NS_PER_MS } from '../base/clock.ts';

/** Reading time in any 100 ms. */
const MAX_SHARE_NS = 20 * NS_PER_MS;
/** Delay before the next attempt when the time is used up. */
const PAUSE_MS = 5;
/** Maximum charge for one step. No step takes longer by itself; another process on the core used the rest. */
const MAX_STEP_NS = 20 * NS_PER_MS;
/** Maximum age of `readUpToNs`. */
const MAX_LAG_NS = 60_000 * NS_PER_MS;
/** Bytes that wait in one lane at most, as counted by `keep`; in all lanes twice as much. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
/** A lane below this always has room. */
const FREE_WAITING_BYTES = 64 * 1024;
/** Charged for each waiting `runAfter`, which keeps an exchange or a WebSocket. */
const RUN_AFTER_BYTES = 2_048;

/** Work that reads observed traffic in steps: a body or a message. */
export interface ReadingTask {
  /** Does one step of at most some milliseconds; false when it was the last. A step that throws is the last, too. */
  step(): boolean;
  /** The reading must wait: copies the bytes that it needs and returns their number; undefined without memory. */
  keep(): number | undefined;
  /** Ends the reading unfinished and frees what it kept. */
  giveUp(): void;
}

export interface ReadingShareParts {
  readonly clock: Clock;
  /** Gets the exceptions of delayed steps. A step that runs at once throws to its caller. */
  readonly onFailure: (cause: unknown) => void;
  readonly schedule?: (run: () => void, delayMs: number) => void;
}

interface Waiting {
  readonly reading: ReadingTask;
  readonly bytes: number;
  readonly sinceNs: number;
}

interface Lane {
  readonly queue: Waiting[];
  bytes: number;
}

export class ReadingShare {
  readonly #parts: Required<ReadingShareParts>;
  /** Lanes by client key, in the order in which they run. */
  readonly #lanes = new Map<string, Lane>();
  readonly #recent = new RecentTime();
  readonly #recentCatchUps = new RecentTime();
  #isScheduled = false;
  waitingBytes = 0;

  constructor(parts: ReadingShareParts) {
    this.#parts = { schedule: (run, delayMs) => void setTimeout(run, delayMs).unref(), ...parts };
  }

  /**
   * Reads now, or later if the time is used up. `key` identifies the client, e.g. by its address; it is called only while
   * something waits, and must then stay the same. `nowNs` is the current time. Throws what a step that runs now throws.
   */
  read(key: () => string, reading: ReadingTask, nowNs: number): void {
    const lane = this.#laneOf(key);
    for (let sinceNs = nowNs; lane === undefined && this.#hasTime(sinceNs); sinceNs = this.#spendSince(sinceNs)) {
      if (reading.step()) continue;
      this.#spendSince(sinceNs);
      return;
    }
    const bytes = this.#hasRoom(lane) ? reading.keep() : undefined;
    if (bytes === undefined) reading.giveUp();
    else this.#wait(key(), { reading, bytes, sinceNs: nowNs });
  }

  /** Whether one more reading of the client could wait if it had to. */
  hasRoom(key: () => string): boolean {
    return this.#hasRoom(this.#laneOf(key));
  }

  /** Runs `act`, which must be short, after all waiting readings of the client; at once if there are none. */
  runAfter(key: () => string, act: () => void): void {
    if (this.#laneOf(key) === undefined) {
      act();
      return;
    }
    const step = (): boolean => {
      act();
      return false;
    };
    const reading = { step, keep: () => 0, giveUp: act };
    this.#wait(key(), { reading, bytes: RUN_AFTER_BYTES, sinceNs: this.#parts.clock.nowNs() });
  }

  /**
   * All traffic before this moment has been read. Timeouts for a missing message must use this moment as the current
   * time: the message may still wait to be read. It is at most `MAX_LAG_NS` ago, so that one client with a constant
   * backlog does not delay the timeouts of all others.
   */
  get readUpToNs(): number {
    const nowNs = this.#parts.clock.nowNs();
    let oldestNs = nowNs;
    for (const { queue } of this.#lanes.values()) oldestNs = Math.min(oldestNs, queue[0]?.sinceNs ?? nowNs);
    return Math.max(oldestNs, nowNs - MAX_LAG_NS);
  }

  /** A client with little waiting always has room, whatever others have. */
  #hasRoom(lane: Lane | undefined): boolean {
    const bytes = lane?.bytes ?? 0;
    if (bytes < FREE_WAITING_BYTES) return true;
    return bytes < MAX_WAITING_BYTES && this.waitingBytes < 2 * MAX_WAITING_BYTES;
  }

  #laneOf(key: () => string): Lane | undefined {
    return this.#lanes.size === 0 ? undefined : this.#lanes.get(key());
  }

  /** Reads waiting traffic even if the share is used up, since numbers are requested. At most `maxNs` in any 100 ms. */
  catchUp(maxNs: number): void {
    if (this.#lanes.size === 0) return;
    const beganNs = this.#parts.clock.nowNs();
    const untilNs = beganNs + maxNs - this.#recentCatchUps.spentNs(beganNs);
    this.#runLanes((nowNs) => nowNs < untilNs);
    const endedNs = this.#parts.clock.nowNs();
    this.#recentCatchUps.spend(endedNs - beganNs, endedNs);
  }

  /** Reads all waiting traffic, however long it takes. Called before the process ends. */
  finish(): void {
    this.#runLanes(() => true);
  }

  #wait(key: string, waiting: Waiting): void {
    const lane = this.#lanes.get(key) ?? { queue: [], bytes: 0 };
    lane.queue.push(waiting);
    lane.bytes += waiting.bytes;
    this.waitingBytes += waiting.bytes;
    this.#lanes.set(key, lane);
    this.#scheduleRun();
  }

  #hasTime(nowNs: number): boolean {
    return this.#recent.spentNs(nowNs) < MAX_SHARE_NS;
  }

  /** Charges one step, and returns the current time. */
  #spendSince(sinceNs: number): number {
    const nowNs = this.#parts.clock.nowNs();
    this.#recent.spend(Math.min(nowNs - sinceNs, MAX_STEP_NS), nowNs);
    return nowNs;
  }

  #scheduleRun(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#parts.schedule(() => {
      this.#isScheduled = false;
      this.#runLanes((nowNs) => this.#hasTime(nowNs));
      if (this.#lanes.size > 0) this.#scheduleRun();
    }, PAUSE_MS);
  }

  /** One step of each lane in turn, while there is time. */
  #runLanes(hasTime: (nowNs: number) => boolean): void {
    let sinceNs = this.#parts.clock.nowNs();
    // A lane that is added again runs again in this loop.
    for (const [key, lane] of this.#lanes) {
      if (!hasTime(sinceNs)) return;
      this.#stepOf(lane);
      this.#lanes.delete(key);
      if (lane.queue.length > 0) this.#lanes.set(key, lane);
      sinceNs = this.#spendSince(sinceNs);
    }
  }

  #stepOf(lane: Lane): void {
    const { reading, bytes } = lane.queue[0] as Waiting;
    let isMore = false;
    try {
      isMore = reading.step();
    } catch (cause) {
      this.#parts.onFailure(cause);
    }
    if (isMore) return;
    lane.queue.shift();
    lane.bytes -= bytes;
    this.waitingBytes -= bytes;
  }
}

const SLOT_NS = 10 * NS_PER_MS;
/** One slot more than 100 ms needs, so that the sum always covers 100 ms in full. */
const SLOTS = 11;

/** How much time was spent recently. */
class RecentTime {
  readonly #slots = new Float64Array(SLOTS);
  /** Number of the current slot since the start of the clock. */
  #slot = 0;
  #sumNs = 0;

  spend(tookNs: number, nowNs: number): void {
    this.#moveTo(nowNs);
    const at = this.#slot % SLOTS;
    this.#slots[at] = (this.#slots[at] as number) + tookNs;
    this.#sumNs += tookNs;
  }

  /** Time spent in the last 100 to 110 ms. */
  spentNs(nowNs: number): number {
    this.#moveTo(nowNs);
    return this.#sumNs;
  }

  #moveTo(nowNs: number): void {
    const slot = Math.floor(nowNs / SLOT_NS);
    this.#slot = Math.max(this.#slot, slot - SLOTS);
    while (this.#slot < slot) {
      this.#slot += 1;
      this.#sumNs -= this.#slots[this.#slot % SLOTS] as number;
      this.#slots[this.#slot % SLOTS] = 0;
    }
  }
}
