/**
 * How much of the event loop's time reading along may take: a fifth in any 100 ms, however much clients send. Traffic has the rest.
 *
 * While there is time, a reading runs at once, inside the call that brought its bytes. Otherwise it waits in a lane behind the others of
 * its client, so that all that one client sends is read in the order in which it passed, and the lanes take turns. What there is no
 * memory for while it would have to wait passes unread (`giveUp`).
 */
import { type Clock, NS_PER_MS } from '../base/clock.ts';
import { RecentTime } from './recent-time.ts';

/** Of any 100 ms. */
const MOST_NS = 20 * NS_PER_MS;
/** When there is no time, it is looked again so much later. */
const PAUSE_MS = 5;
/** A lane works for about so long before it is the next one's turn. */
const TURN_NS = NS_PER_MS;
/** No step takes longer by itself: what was measured beyond it, another process took of the core. */
const LONGEST_STEP_NS = 20 * NS_PER_MS;
/** What one lane may have waiting, as `keep` tells it, while all together have no more than twice as much; and what it always may. */
const MOST_WAITING_BYTES = 4 * 1024 * 1024;
const ALWAYS_WAITING_BYTES = 64 * 1024;

/** Something to be read, in steps. */
export interface Reading {
  /** Does one step, of some milliseconds at most; false when it was the last. One that throws was the last, too. */
  step(): boolean;
  /** It has to wait: copies what it will need, and says how many bytes that is; undefined when there is no memory for them. */
  keep(): number | undefined;
  /** It will not be read any further, and gives back what it kept. */
  giveUp(): void;
}

export interface ReadingShareParts {
  readonly clock: Clock;
  /** What a step has thrown that had to wait. One that runs at once throws to its caller. */
  readonly onFailure: (cause: unknown) => void;
  /** Runs `run` once, after about `delayMs`. */
  readonly schedule?: (run: () => void, delayMs: number) => void;
}

interface Waiting {
  readonly reading: Reading;
  readonly bytes: number;
}

/** What waits of one client. */
interface Lane {
  /** Undefined: done. */
  readonly queue: (Waiting | undefined)[];
  /** How far `queue` is done: shifting a long array would copy it. */
  at: number;
  bytes: number;
  /** Time that it has taken beyond its turns. */
  debtNs: number;
}

/** The readings of one exchange or WebSocket, as a part of those of its client. */
export class ClientReadings {
  readonly #share: ReadingShare;
  readonly #toKeyOnce: () => string;
  #key: string | undefined;

  /** As `ReadingShare.of`. */
  constructor(share: ReadingShare, toKey: () => string) {
    this.#share = share;
    this.#toKeyOnce = toKey;
  }

  /** Reads now, or later where there is no time now. `nowNs`: now, on the clock. What a step throws now passes through. */
  read(reading: Reading, nowNs: number): void {
    this.#share.read(this.#toKey, reading, nowNs);
  }

  /** Whether one more reading may wait, if it has to. */
  get hasRoom(): boolean {
    return this.#share.hasRoom(this.#toKey);
  }

  /** Runs `act`, which is short, behind all that waits of the client; at once where nothing does. */
  runAfter(act: () => void): void {
    this.#share.runAfter(this.#toKey, act);
  }

  readonly #toKey = (): string => {
    this.#key ??= this.#toKeyOnce();
    return this.#key;
  };
}

export class ReadingShare {
  readonly #parts: ReadingShareParts;
  readonly #schedule: (run: () => void, delayMs: number) => void;
  /** Clients for which something waits, by their keys, the next one first. */
  readonly #lanes = new Map<string, Lane>();
  readonly #recent = new RecentTime();
  readonly #recentCatchUps = new RecentTime();
  #isScheduled = false;
  #waitingBytes = 0;

  constructor(parts: ReadingShareParts) {
    this.#parts = parts;
    this.#schedule = parts.schedule ?? ((run, delayMs) => void setTimeout(run, delayMs).unref());
  }

  /** Bytes of readings that wait. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** `toKey`: who the client is, e.g. its address; asked for once, where something waits. */
  of(toKey: () => string): ClientReadings {
    return new ClientReadings(this, toKey);
  }

  /** As `ClientReadings.read`; `key` is asked for where something waits. */
  read(key: () => string, reading: Reading, nowNs: number): void {
    const lane = this.#laneOf(key);
    if (lane === undefined && !this.#runWhileTime(reading, nowNs)) return;
    const bytes = this.#hasRoom(lane) ? reading.keep() : undefined;
    if (bytes === undefined) reading.giveUp();
    else this.#wait(key(), { reading, bytes });
  }

  /** As `ClientReadings.hasRoom`. */
  hasRoom(key: () => string): boolean {
    return this.#hasRoom(this.#laneOf(key));
  }

  /** As `ClientReadings.runAfter`. */
  runAfter(key: () => string, act: () => void): void {
    if (this.#laneOf(key) === undefined) {
      act();
      return;
    }
    const step = (): boolean => {
      act();
      return false;
    };
    this.#wait(key(), { reading: { step, keep: () => 0, giveUp: act }, bytes: 0 });
  }

  /** A client that has little waiting always has room, whatever others have. */
  #hasRoom(lane: Lane | undefined): boolean {
    const bytes = lane?.bytes ?? 0;
    if (bytes < ALWAYS_WAITING_BYTES) return true;
    return bytes < MOST_WAITING_BYTES && this.#waitingBytes < 2 * MOST_WAITING_BYTES;
  }

  #laneOf(key: () => string): Lane | undefined {
    return this.#lanes.size === 0 ? undefined : this.#lanes.get(key());
  }

  /**
   * Reads what waits, whatever was spent before: somebody asks for numbers. Takes `mostNs` at most, in any 100 ms and however often it is
   * asked for.
   */
  catchUp(mostNs: number): void {
    if (this.#lanes.size === 0) return;
    const beganNs = this.#parts.clock.nowNs();
    const untilNs = beganNs + mostNs - this.#recentCatchUps.spentNs(beganNs);
    this.#readUntil(untilNs);
    const endedNs = this.#parts.clock.nowNs();
    this.#recentCatchUps.spend(endedNs - beganNs, endedNs);
  }

  #readUntil(untilNs: number): void {
    for (const [key, lane] of this.#lanes) {
      while (lane.at < lane.queue.length) {
        const sinceNs = this.#parts.clock.nowNs();
        if (sinceNs >= untilNs) return;
        this.#stepOf(lane);
        const nowNs = this.#parts.clock.nowNs();
        this.#spend(nowNs - sinceNs, nowNs);
      }
      this.#lanes.delete(key);
    }
  }

  /** Reads all that waits, however long it takes: before the end of the process. */
  finish(): void {
    for (const [key, lane] of this.#lanes) {
      while (lane.at < lane.queue.length) this.#stepOf(lane);
      this.#lanes.delete(key);
    }
  }

  #wait(key: string, waiting: Waiting): void {
    const lane = this.#lanes.get(key) ?? { queue: [], at: 0, bytes: 0, debtNs: 0 };
    lane.queue.push(waiting);
    lane.bytes += waiting.bytes;
    this.#waitingBytes += waiting.bytes;
    this.#lanes.set(key, lane);
    this.#scheduleTurn();
  }

  /** False when `reading` is done; true when there is no time for its next step. */
  #runWhileTime(reading: Reading, nowNs: number): boolean {
    let sinceNs = nowNs;
    while (this.#hasTime(sinceNs)) {
      const isMore = reading.step();
      const untilNs = this.#parts.clock.nowNs();
      this.#spend(untilNs - sinceNs, untilNs);
      if (!isMore) return false;
      sinceNs = untilNs;
    }
    return true;
  }

  #hasTime(nowNs: number): boolean {
    return this.#recent.spentNs(nowNs) < MOST_NS;
  }

  /** What of `tookNs` counts. */
  #spend(tookNs: number, nowNs: number): number {
    const spentNs = Math.min(tookNs, LONGEST_STEP_NS);
    this.#recent.spend(spentNs, nowNs);
    return spentNs;
  }

  #scheduleTurn(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#schedule(() => {
      this.#isScheduled = false;
      this.#takeTurns();
      if (this.#lanes.size > 0) this.#scheduleTurn();
    }, PAUSE_MS);
  }

  #takeTurns(): void {
    for (const [key, lane] of this.#lanes) {
      if (!this.#hasTime(this.#parts.clock.nowNs())) return;
      this.#takeTurn(lane);
      this.#lanes.delete(key);
      // The others are before it now.
      if (lane.at < lane.queue.length) this.#lanes.set(key, lane);
    }
  }

  #takeTurn(lane: Lane): void {
    lane.debtNs -= TURN_NS;
    let sinceNs = this.#parts.clock.nowNs();
    while (lane.debtNs < 0 && lane.at < lane.queue.length && this.#hasTime(sinceNs)) {
      this.#stepOf(lane);
      const untilNs = this.#parts.clock.nowNs();
      lane.debtNs += this.#spend(untilNs - sinceNs, untilNs);
      sinceNs = untilNs;
    }
    // Time that was not used is not saved up.
    lane.debtNs = Math.max(0, lane.debtNs);
  }

  #stepOf(lane: Lane): void {
    const { reading, bytes } = lane.queue[lane.at] as Waiting;
    let isMore = false;
    try {
      isMore = reading.step();
    } catch (cause) {
      this.#parts.onFailure(cause);
    }
    if (isMore) return;
    lane.queue[lane.at] = undefined;
    lane.at += 1;
    lane.bytes -= bytes;
    this.#waitingBytes -= bytes;
    if (lane.at === lane.queue.length) {
      lane.queue.length = 0;
      lane.at = 0;
    } else if (lane.at > MOST_DONE_KEPT && lane.at > lane.queue.length / 2) {
      lane.queue.splice(0, lane.at);
      lane.at = 0;
    }
  }
}

/** Below it, what is done stays in the queue until all of it is. */
const MOST_DONE_KEPT = 1_000;
