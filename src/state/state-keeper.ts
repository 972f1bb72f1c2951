/**
 * Keeps the counts across restarts (`state.file`): loads them at the start, saves them every `state.interval` and at
 * the stop. The folder knows of the data only that it writes and reads itself (`Savable`). docs/state.md describes the
 * content of the file, who may read it, and what happens to an unusable one.
 *
 * The file never stops the sidecar from serving: an unusable one is set aside, a failed save is retried.
 */

import { stat } from 'node:fs/promises';
import { type Clock, MS_PER_S, NS_PER_MS, NS_PER_S } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { counter, gauge, info, type MetricDescription } from '../base/metric-description.ts';
import { describeFileError } from '../base/trusted-file.ts';
import { WrittenByAnotherError, writeAside } from '../base/write-aside.ts';
import type { Savable } from './saved-record.ts';
import { type Header, parseHeader, readLines, type SaveResult, writeState } from './state-file.ts';

/** A lasting problem is logged this often. */
const REMIND_NS = 300 * NS_PER_S;
/** The next save begins early by this multiple of the last duration: the file is never older than the interval. */
const HEAD_START = 2;
/** The wait is at least this fraction of the interval. */
const LEAST_WAIT = 0.25;

const ANOTHER = 'another sidecar saves to the same state.file: give each its own';

export type StateRefusal = 'torn' | 'foreign' | 'older' | 'newer' | 'unreadable';

export interface StateKeeperParts {
  readonly file: string;
  readonly intervalMs: number;
  readonly state: Savable;
  /** The outcome of loading the file at the start. */
  readonly restored: 'absent' | 'restored' | StateRefusal;
  readonly header: Header;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class StateKeeper {
  /** Of the file; it has to be claimed before the first save. */
  readonly owner: StateOwner;
  readonly restored: StateKeeperParts['restored'];
  readonly #parts: StateKeeperParts;
  readonly #remindedNs = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isStopped = false;
  #isFailing = false;
  last: (SaveResult & { readonly epochMs: number; readonly durationNs: number }) | undefined;
  saves = 0;
  failures = 0;
  /** Saves that found another sidecar's file instead of ours. */
  conflicts = 0;

  constructor(parts: StateKeeperParts) {
    this.#parts = parts;
    this.restored = parts.restored;
    this.owner = new StateOwner(parts.file, parts.header);
  }

  start(): void {
    this.#schedule(this.#parts.intervalMs);
  }

  /** The last save, after all counting has ended. A failure is logged; never rejects. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
    await this.save();
  }

  /** Never rejects. */
  async save(): Promise<void> {
    try {
      const whose = await this.owner.ask();
      if (whose !== 'own') this.#conflict(whose === 'leave' ? 'it started later, so it keeps the file' : 'replaced');
      if (whose !== 'leave') await this.#write();
    } catch (error) {
      if (error instanceof WrittenByAnotherError) {
        this.#conflict('both write it at this moment');
        return;
      }
      this.failures += 1;
      this.#isFailing = true;
      const details = { code: 'D2S_ERR_STATE_FILE', reason: describeFileError(error), file: this.#parts.file };
      this.#remind(details.reason, details, 'the state cannot be saved: make room or right for it; it is tried again');
    }
  }

  async #write(): Promise<void> {
    const { file, header, state, clock } = this.#parts;
    const beganNs = clock.nowNs();
    const epochMs = clock.epochMs();
    const written = await writeAside(file, (handle) => writeState(handle, header, state.save(), clock));
    await this.owner.claim();
    this.saves += 1;
    this.last = { epochMs, durationNs: clock.nowNs() - beganNs, ...written };
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#remindedNs.clear();
    this.#parts.logger.info({ file: this.#parts.file }, 'the state is saved again');
  }

  #schedule(waitMs: number): void {
    if (this.#isStopped) return;
    const { intervalMs } = this.#parts;
    this.#timer = setTimeout(() => {
      this.#running = this.save().then(() => {
        const lastMs = (this.last?.durationNs ?? 0) / NS_PER_MS;
        this.#schedule(Math.max(intervalMs * LEAST_WAIT, intervalMs - HEAD_START * lastMs));
      });
    }, waitMs).unref();
  }

  #conflict(what: string): void {
    this.conflicts += 1;
    this.#remind(what, { code: 'D2S_ERR_STATE_FILE', file: this.#parts.file, what }, ANOTHER);
  }

  #remind(about: string, details: object, message: string): void {
    const nowNs = this.#parts.clock.nowNs();
    const lastNs = this.#remindedNs.get(about);
    if (lastNs !== undefined && nowNs - lastNs < REMIND_NS) return;
    this.#remindedNs.set(about, nowNs);
    this.#parts.logger.warn(details, message);
  }
}

export const STATE_METRICS: readonly MetricDescription<StateKeeper>[] = [
  info(
    'd2_sidecar_state_start_info',
    'The state file at the start: restored, absent, or why it was refused.',
    ({ restored }) => ({ [restored]: 1 }),
    'result',
  ),
  counter('d2_sidecar_state_saves_total', 'Saves of the state.', 'saves'),
  counter('d2_sidecar_state_save_failures_total', 'Failed saves of the state.', 'failures'),
  counter('d2_sidecar_state_conflicts_total', 'Saves of another sidecar to the same state.file.', 'conflicts'),
  gauge(
    'd2_sidecar_state_last_save_timestamp_seconds',
    'When the last save began.',
    ({ last }) => last && last.epochMs / MS_PER_S,
  ),
  gauge(
    'd2_sidecar_state_last_save_seconds',
    'How long the last save took.',
    ({ last }) => last && last.durationNs / NS_PER_S,
  ),
  gauge(
    'd2_sidecar_state_last_save_slice_seconds',
    'Longest time that the last save held the event loop.',
    ({ last }) => last && last.longestSliceNs / NS_PER_S,
  ),
  gauge('d2_sidecar_state_file_bytes', 'Size of the state file.', ({ last }) => last?.bytes),
];

/** After this many checks of an unchanged file its writer is considered gone. */
const LOOKS_UNTIL_GONE = 3;

/**
 * Notices when another sidecar writes the same file. A lock would survive a crash, and the process ids in it mean
 * nothing between containers, where both may be 1. Instead each sidecar checks whose file it is about to replace.
 *
 * The sidecar that started later keeps the file. In a rolling restart the old one must not overwrite what the new one
 * has begun to count.
 */
class StateOwner {
  readonly #file: string;
  readonly #self: Pick<Header, 'writer' | 'writerStartedMs'>;
  /** The file as it was when this process owned it or last checked it. */
  #known: string | undefined;
  #unchangedLooks = 0;
  #isForeign = false;

  constructor(file: string, self: Pick<Header, 'writer' | 'writerStartedMs'>) {
    this.#file = file;
    this.#self = self;
  }

  /** Takes ownership of the file just read or just written. */
  async claim(): Promise<void> {
    this.#known = await this.#look();
    this.#isForeign = false;
  }

  /**
   * `own`: absent, no state file, or ours. `replaceable`: of a sidecar that started earlier or is gone. `leave`: of one
   * that started later.
   */
  async ask(): Promise<'own' | 'replaceable' | 'leave'> {
    const there = await this.#look();
    if (there === undefined) return 'own';
    if (there === this.#known) {
      if (!this.#isForeign) return 'own';
      this.#unchangedLooks += 1;
      return this.#unchangedLooks < LOOKS_UNTIL_GONE ? 'leave' : 'replaceable';
    }
    this.#known = there;
    this.#unchangedLooks = 0;
    this.#isForeign = false;
    const header = await this.#header();
    // As at a start, a file that is not a state file is replaced.
    if (header === undefined || header.writer === this.#self.writer) return 'own';
    this.#isForeign = header.writerStartedMs > this.#self.writerStartedMs;
    return this.#isForeign ? 'leave' : 'replaceable';
  }

  /** The properties of the file that change when it is rewritten. */
  async #look(): Promise<string | undefined> {
    const there = await stat(this.#file).catch(() => undefined);
    return there && `${there.ino} ${there.mtimeMs} ${there.size}`;
  }

  async #header(): Promise<Header | undefined> {
    try {
      for await (const line of readLines(this.#file)) return parseHeader(line);
    } catch {
      // Unreadable: the save that follows reports it.
    }
    return undefined;
  }
}
