/**
 * Keeps what has been counted over restarts (`state.file`): takes it up at the start, saves it every `state.interval` and at the
 * stop. Knows of what it saves only that it writes and reads itself (`Savable`). docs/state.md says what is in the file, who may
 * read it, and what becomes of a file that cannot be used.
 *
 * Nothing here ever keeps the sidecar from serving: a file that cannot be used is set aside, a save that fails is tried again.
 */

import { type Clock, NS_PER_MS, NS_PER_S } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { ArchiveReader } from './archive/archive-reader.ts';
import type { ArchiveWriter } from './archive/archive-writer.ts';
import { toErrno } from './read-state.ts';
import { writeInSlices } from './sliced-write.ts';
import { type Header, type Refusal, writeHeader } from './state-format.ts';
import type { StateOwner } from './state-owner.ts';
import { WrittenByAnotherError, writeAside } from './write-aside.ts';

/** What is saved. */
export interface Savable {
  /** Context paths. */
  readonly applications: readonly string[];
  /** Writes itself step by step; the process goes on in between. */
  save(out: ArchiveWriter): Iterable<void>;
  /** Becomes what was saved; throws, and is of no use then, when that cannot be read. */
  load(input: ArchiveReader): void;
}

export interface LastSave {
  readonly epochMs: number;
  readonly durationNs: number;
  readonly bytes: number;
  /** The longest that the event loop was kept at once. */
  readonly longestSliceNs: number;
}

/** A problem that lasts is told of this often. */
const REMIND_NS = 300 * NS_PER_S;
/** The next save begins this much of the last one's duration early, so that what is on the disk is never older than the interval. */
const HEAD_START = 2;
/** But never sooner than after this part of the interval. */
const LEAST_WAIT = 0.25;

const ANOTHER = 'another sidecar saves to the same state.file: give each its own';

export class StateKeeper {
  readonly #file: string;
  readonly #intervalMs: number;
  readonly #state: Savable;
  readonly #header: Header;
  readonly #owner: StateOwner;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #remindedNs = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isStopped = false;
  #isFailing = false;
  /** What became of the file at the start. */
  readonly restored: 'restored' | 'absent' | Refusal;
  last: LastSave | undefined;
  saves = 0;
  failures = 0;
  /** Saves that found another sidecar's file in the place of ours. */
  conflicts = 0;

  constructor(parts: {
    file: string;
    intervalMs: number;
    state: Savable;
    restored: StateKeeper['restored'];
    header: Header;
    owner: StateOwner;
    clock: Clock;
    logger: Logger;
  }) {
    this.#file = parts.file;
    this.#intervalMs = parts.intervalMs;
    this.#state = parts.state;
    this.restored = parts.restored;
    this.#header = parts.header;
    this.#owner = parts.owner;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
  }

  /** Begins to save, now and then. */
  start(): void {
    this.#schedule(this.#intervalMs);
  }

  /** Saves for the last time, when nothing is counted any more. What is not saved is told of; never rejects. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
    await this.save(true);
  }

  /** One save; `isUrgent` when the process has nothing else to do. Never rejects. */
  async save(isUrgent = false): Promise<void> {
    try {
      const whose = await this.#owner.ask();
      if (whose !== 'own') this.#conflict(whose === 'leave' ? 'it started later, so it keeps the file' : 'replaced');
      if (whose !== 'leave') await this.#write(isUrgent);
    } catch (error) {
      if (error instanceof WrittenByAnotherError) this.#conflict('both write it at this moment');
      else this.#fail(error);
    }
  }

  async #write(isUrgent: boolean): Promise<void> {
    const beganNs = this.#clock.nowNs();
    const epochMs = this.#clock.epochMs();
    const written = await writeAside(this.#file, (handle) =>
      writeInSlices(handle, (out) => this.#steps(out), { clock: this.#clock, isUrgent }),
    );
    await this.#owner.claim();
    this.saves += 1;
    this.last = { epochMs, durationNs: this.#clock.nowNs() - beganNs, ...written };
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#remindedNs.clear();
    this.#logger.info({ file: this.#file }, 'the state is saved again');
  }

  *#steps(out: ArchiveWriter): Generator<void> {
    writeHeader(out, this.#header);
    yield* this.#state.save(out);
  }

  #schedule(waitMs: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#running = this.save().then(() => this.#schedule(this.#nextWaitMs()));
    }, waitMs).unref();
  }

  #nextWaitMs(): number {
    const lastMs = (this.last?.durationNs ?? 0) / NS_PER_MS;
    return Math.max(this.#intervalMs * LEAST_WAIT, this.#intervalMs - HEAD_START * lastMs);
  }

  #fail(error: unknown): void {
    this.failures += 1;
    this.#isFailing = true;
    const details = { code: 'D2S_ERR_STATE_FILE', reason: toErrno(error), file: this.#file };
    this.#remind(details.reason, details, 'the state cannot be saved: make room or right for it; it is tried again');
  }

  #conflict(what: string): void {
    this.conflicts += 1;
    this.#remind(what, { code: 'D2S_ERR_STATE_FILE', file: this.#file, what }, ANOTHER);
  }

  #remind(about: string, details: object, message: string): void {
    const nowNs = this.#clock.nowNs();
    const lastNs = this.#remindedNs.get(about);
    if (lastNs !== undefined && nowNs - lastNs < REMIND_NS) return;
    this.#remindedNs.set(about, nowNs);
    this.#logger.warn(details, message);
  }
}
