/**
 * The history on disk (`history.file`), loaded only if it is configured. A thread has the file, so that the event loop
 * never waits for a disk; an hour of minutes waits here if it cannot be written. The folder reads what measure/history
 * has counted, and must not know HTTP.
 */
import { constants } from 'node:fs';
import { isBuiltin } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { type Clock, MS_PER_S } from '../base/clock.ts';
import { SidecarError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { describeFileError, openTrusted } from '../base/trusted-file.ts';
import { findReplaceable, removeOwn } from '../base/write-aside.ts';
import type { Config } from '../config/config.ts';
import type { EndedMinute } from '../measure/history/application-history.ts';
import type { Earlier, History } from '../measure/history/history.ts';
import { endMark, type Mark } from '../measure/history/marks.ts';
import { type StoreCalls, Thread } from './thread.ts';

type ArchiveOptions = Config['history'] & { readonly file: string; readonly clock: Clock; readonly logger: Logger };

/** The start and the end wait this long for the disk. */
const PATIENCE_MS = 3_000;
const ANSWER_MS = 60_000;
/** As many as the hour in memory has. */
const MAX_QUEUE = 60;
const CODE = 'D2S_ERR_HISTORY_FILE';
/** They read all names of days, which may take seconds. */
const LONG_CALLS: ReadonlySet<keyof StoreCalls> = new Set(['compare', 'findSlower', 'summarize']);
const MAX_ASIDE = 8;
const NEW_FILE = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY;

/** Undefined if this Node.js has SQLite. */
export function findRuntimeObstacle(): string | undefined {
  return isBuiltin('node:sqlite') ? undefined : `needs Node.js 22.13 or later, got ${process.versions.node}`;
}

export class Archive {
  readonly #options: ArchiveOptions;
  #thread: Promise<Thread> | undefined;
  #history: Pick<History, 'mark' | 'onStep'> | undefined;
  #queue: (readonly EndedMinute[])[] = [];
  #marks: readonly Mark[] = [];
  /** The marks on disk, as JSON. */
  #savedMarks = '';
  #flushing: Promise<void> | undefined;
  readonly #aside = { waiting: 0, last: Promise.resolve() };
  #isFailing = false;
  /** The mark of a failure that lasts. */
  #failure: Mark | undefined;
  /** The last hour before this process; undefined if the disk was too slow. */
  earlier: Earlier | undefined;
  writes = 0;
  failures = 0;
  dropped = 0;
  bytes: number | undefined;
  readonly refused = { damaged: 0, older: 0, newer: 0 };

  private constructor(options: ArchiveOptions) {
    this.#options = options;
  }

  /** Undefined without SQLite. Never rejects: the sidecar serves without its file, too. */
  static async open(options: ArchiveOptions): Promise<Archive | undefined> {
    const { logger, file, clock } = options;
    const obstacle = findRuntimeObstacle();
    if (obstacle !== undefined) {
      logger.warn({ code: CODE, file }, `history.file ${obstacle}: there is no history on disk`);
      return undefined;
    }
    const archive = new Archive(options);
    const begun = archive.#ask('begin', clock.epochMs() / MS_PER_S).catch((error) => archive.#fail(error));
    // A timer that keeps the process alive, which the thread does not.
    archive.earlier = (await Promise.race([begun, delay(PATIENCE_MS, undefined)])) ?? undefined;
    return archive;
  }

  /** Writes what each step of `history` ends. */
  attach(history: Pick<History, 'mark' | 'onStep'>): void {
    this.#history = history;
    for (const [reason, times] of Object.entries(this.refused)) if (times > 0) this.#markRefused(reason);
    history.onStep = (minutes, marks) => {
      this.#marks = marks;
      if (minutes.length > 0) this.#queue.push(minutes);
      this.dropped += Math.max(0, this.#queue.length - MAX_QUEUE);
      this.#queue = this.#queue.slice(-MAX_QUEUE);
      void this.#flush();
    };
  }

  /** Why the file is not written now; undefined if it is. */
  get failure(): string | undefined {
    return this.#isFailing ? (this.#failure?.text ?? 'The history cannot be written.') : undefined;
  }

  /** Minutes that wait for the disk. */
  get queued(): number {
    return this.#queue.length;
  }

  /** Asks the store, e.g. `ask('marks', from, to)`, with times in seconds since 1970. Throws D2S_ERR_HISTORY_FILE. */
  async ask<Name extends keyof StoreCalls>(name: Name, ...args: Parameters<StoreCalls[Name]>) {
    const late = delay(ANSWER_MS, undefined, { ref: false }).then(() => Promise.reject(new Error('no answer')));
    late.catch(() => undefined);
    try {
      const answer = LONG_CALLS.has(name) ? this.#askAside(name, ...args) : this.#ask(name, ...args);
      return await Promise.race([answer, late]);
    } catch (cause) {
      throw new SidecarError(CODE, `the history cannot be read: ${describe(cause)}`, { cause });
    }
  }

  /** Copies the history into a new file. Throws D2S_ERR_HISTORY_FILE. */
  async backUp(file: string): Promise<void> {
    let target: string | undefined;
    try {
      const { handle, realPath } = await openTrusted(file, NEW_FILE, 0o600);
      target = realPath;
      await handle.close();
      await this.#askOther('backUp', target);
    } catch (cause) {
      if (target !== undefined) await removeOwn(target).catch(() => undefined);
      throw new SidecarError(CODE, `${file} cannot be written: ${describe(cause)}`, { cause });
    }
  }

  /** Writes what waits, and closes the file. Never rejects. */
  async close(): Promise<void> {
    const written = this.#flush().then(() => this.#ask('close'));
    await Promise.race([written.catch(() => undefined), delay(PATIENCE_MS)]);
    await this.#thread?.then((thread) => thread.end()).catch(() => undefined);
  }

  /** One write at a time. A write has no deadline: a second one would count the same calls again. */
  #flush(): Promise<void> {
    const writeAll = async () => {
      while (await this.#writeNext());
    };
    this.#flushing ??= writeAll()
      .catch((error) => this.#fail(error))
      .finally(() => {
        this.#flushing = undefined;
      });
    return this.#flushing;
  }

  async #writeNext(): Promise<boolean> {
    const [minutes] = this.#queue;
    const marks = JSON.stringify(this.#marks);
    if (minutes === undefined && marks === this.#savedMarks) return false;
    this.bytes = await this.#ask('write', minutes ?? [], marks === this.#savedMarks ? [] : this.#marks);
    this.#savedMarks = marks;
    this.#queue = this.#queue.filter((waiting) => waiting !== minutes);
    this.writes += 1;
    if (!this.#isFailing) return true;
    const { clock, logger, file } = this.#options;
    if (this.#failure !== undefined) endMark(this.#failure, clock.epochMs());
    this.#failure = undefined;
    this.#isFailing = false;
    logger.info({ file }, 'the history is written again');
    return true;
  }

  /** In another thread: writing goes on meanwhile, and the memory goes with the thread. */
  async #askOther<Name extends keyof StoreCalls>(name: Name, ...args: Parameters<StoreCalls[Name]>) {
    const thread = await this.#createThread(true);
    try {
      return await thread.ask(name, ...args);
    } finally {
      await thread.end();
    }
  }

  /** Runs one query at a time. */
  async #askAside<Name extends keyof StoreCalls>(name: Name, ...args: Parameters<StoreCalls[Name]>) {
    if (this.#aside.waiting >= MAX_ASIDE) throw new Error('too many long questions wait');
    this.#aside.waiting += 1;
    const answer = this.#aside.last.then(() => this.#askOther(name, ...args));
    this.#aside.last = answer.then(
      () => undefined,
      () => undefined,
    );
    try {
      return await answer;
    } finally {
      this.#aside.waiting -= 1;
    }
  }

  async #createThread(isAside = false): Promise<Thread> {
    const { file, keepMs, maxBytes, logger } = this.#options;
    const options = { file: await findReplaceable(file), keepS: keepMs / MS_PER_S, maxBytes, isAside };
    return new Thread(options, ({ reason, file: setAsideAs }) => {
      this.refused[reason] += 1;
      logger.warn({ code: CODE, reason, file, setAsideAs }, 'the history file is refused: the history begins anew');
      this.#markRefused(reason);
    });
  }

  async #ask<Name extends keyof StoreCalls>(name: Name, ...args: Parameters<StoreCalls[Name]>) {
    return await (await this.#connect()).ask(name, ...args);
  }

  /** Starts the thread, and another one after its end. */
  async #connect(): Promise<Thread> {
    this.#thread ??= this.#createThread();
    const starting = this.#thread;
    const thread = await starting.catch(() => undefined);
    if (thread?.hasEnded === false) return thread;
    if (this.#thread === starting) this.#thread = undefined;
    return thread === undefined ? await starting : await this.#connect();
  }

  #fail(error: unknown): void {
    const { logger, file } = this.#options;
    const reason = describe(error);
    this.failures += 1;
    this.#failure ??= this.#history?.mark('history', `The history cannot be written: ${reason}.`);
    const message = 'the history cannot be written: make room or right for it; it is tried again';
    if (!this.#isFailing) logger.warn({ code: CODE, reason, file }, message);
    this.#isFailing = true;
  }

  #markRefused(reason: string): void {
    this.#history?.mark('history', `The history file was renamed (${reason}), and the history begins anew.`);
  }
}

/** Errors of files have a code, those of the thread a text. */
function describe(error: unknown): string {
  return error instanceof Error && !('code' in error) ? error.message : describeFileError(error);
}
