/**
 * Writes lines to a file, a FIFO or a device in the background. Lines wait in a bounded queue, and Node's thread pool
 * writes them in batches, one at a time. Traffic never waits for it, and no error of the file stops anything else.
 *
 * docs/access-log.md says what happens when the file cannot be written. Two lines never become one: the rest of a line
 * that was written in part comes first, or is dropped with that file; a line feed ends one that a crash has cut short.
 *
 * sonic-boom (of pino) does not fit. It opens paths without the checks of `openTrusted`, and cannot reopen a descriptor.
 * It counts bytes, not lines; `destroy` drops its queue uncounted, and no queued line can move to another file. Neither
 * does rotating-file-stream: it opens paths without checks too, takes no FIFO, and ends at the first failed write.
 */
import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { Logger } from '../../base/logger.ts';
import { describeFileError, openTrusted } from '../../base/trusted-file.ts';
import { removeOwn, renameTrusted } from '../../base/write-aside.ts';
import type { Config } from '../../config/config.ts';
import { checkOwner, endsWithLine } from './log-obstacle.ts';

/** Some 10,000 lines: seconds of traffic. Further lines are lost. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
/** Under heavy traffic lines are written as soon as so many bytes wait. */
const BATCH_BYTES = 64 * 1024;
/** Lines of one write. Systems take up to 1,024 buffers. */
const BATCH_LINES = 256;
const FLUSH_MS = 100;
const RETRY_MS = 1_000;
/** Retry interval for a full FIFO: nothing signals that its reader has read. */
const FULL_RETRY_MS = 10;
const FILE_MODE = 0o600;
const OPEN_FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT;
/** Transient errors, after which the same file can be written again. */
const TRANSIENT = new Set(['ENOSPC', 'EDQUOT', 'EAGAIN']);

/** Only regular files are rotated. `file.1` is the youngest. */
export type LineFileOptions = Pick<Config['accessLog'], 'maxBytes' | 'keep'> & { readonly file: string };

export interface LineCounts {
  written: number;
  lost: number;
  /** Failed attempts to open, write or rotate the file. */
  failures: number;
  rotations: number;
}

/** Overrides for tests: the retry interval and the size of the queue. */
export interface LineFileLimits {
  readonly retryMs?: number;
  readonly maxWaitingBytes?: number;
}

export class LineFile {
  waitingBytes = 0;
  readonly #counts: LineCounts;
  readonly #logger: Logger;
  readonly #limits: Required<LineFileLimits>;
  #options: LineFileOptions;
  #handle: FileHandle | undefined;
  #isRegular = false;
  /** Path of the open file without links: rotating must not rename a link to it. */
  #realPath = '';
  #bytes = 0;
  /** Size at the last failure to rotate: the file may grow by `maxBytes` more. */
  #unrotatedBytes = 0;
  #isReopenDue = false;
  /** As bytes, since concatenated strings cost more the longer they live. */
  readonly #lines: Buffer[] = [];
  /** Bytes of the first line that are written already. */
  #writtenOfFirst = 0;
  #work: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The timer waits for a retry. */
  #isRetryDue = false;
  #isTroubled = false;
  /** Value of `lost` at the last recovery. */
  #reportedLost: number;
  #isClosed = false;
  /** `close` no longer waits for the last lines. */
  #isOver = false;

  constructor(options: LineFileOptions, counts: LineCounts, logger: Logger, limits: LineFileLimits = {}) {
    this.#options = options;
    this.#counts = counts;
    this.#reportedLost = counts.lost;
    this.#logger = logger;
    this.#limits = { retryMs: RETRY_MS, maxWaitingBytes: MAX_WAITING_BYTES, ...limits };
    // Opened now, so that an unusable file is reported at the start.
    this.#begin();
  }

  /** Never throws and never waits. `line` ends with its line feed. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#isClosed || this.waitingBytes + bytes.length > this.#limits.maxWaitingBytes) {
      this.#countLost(1);
      return;
    }
    this.#lines.push(bytes);
    this.waitingBytes += bytes.length;
    if (this.#work !== undefined) return;
    if (this.#timer === undefined) this.#timer = setTimeout(() => this.#begin(), FLUSH_MS).unref();
    // Sooner under heavy traffic, but not before a retry is due.
    else if (this.waitingBytes >= BATCH_BYTES && !this.#isRetryDue) this.#begin();
  }

  /** Call it after the file has been moved away: the next batch goes to a new file. No line is lost. */
  reopen(): void {
    this.#isReopenDue = true;
    this.#begin();
  }

  /** The new path and size apply from the next batch on. */
  reconfigure(options: LineFileOptions): void {
    const isElsewhere = options.file !== this.#options.file;
    this.#options = options;
    if (isElsewhere) this.reopen();
  }

  /** Accepts no more lines, and writes the pending ones for up to `limitMs`; the rest is lost. */
  async close(limitMs: number): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const isLate = new Promise<void>((resolve) => setTimeout(resolve, limitMs).unref());
    await Promise.race([this.#finish(), isLate]);
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#countLost(this.#lines.splice(0).length);
    this.waitingBytes = 0;
    // Closing can block for the same reasons as writing.
    await Promise.race([this.#closeHandle(), isLate]);
  }

  async #finish(): Promise<void> {
    await this.#work;
    this.#begin();
    await this.#work;
    // A full FIFO may have a reader that is still reading.
    while (this.waitingBytes > 0 && this.#handle !== undefined && !this.#isRegular && !this.#isTroubled) {
      await new Promise((resolve) => setTimeout(resolve, FULL_RETRY_MS));
      await this.#work;
    }
  }

  /** Starts writing the queue, unless that is in progress. */
  #begin(): void {
    if (this.#work !== undefined || this.#isOver) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#work = this.#writeQueue().then((retryMs) => {
      this.#work = undefined;
      if (this.#isOver) return;
      this.#isRetryDue = retryMs !== undefined;
      const waitMs = retryMs ?? (this.waitingBytes > 0 || this.#isReopenDue ? FLUSH_MS : undefined);
      if (waitMs !== undefined) this.#timer = setTimeout(() => this.#begin(), waitMs).unref();
    });
  }

  /** Resolves to the delay before the next attempt, or undefined when the queue is empty. Never rejects. */
  async #writeQueue(): Promise<number | undefined> {
    for (;;) {
      if (this.#isReopenDue || this.#handle === undefined) {
        if (!(await this.#open())) return this.#limits.retryMs;
      }
      if (this.#isRotationDue && !(await this.#rotate())) return this.#limits.retryMs;
      if (this.#lines.length === 0) {
        this.#recovered();
        return undefined;
      }
      const failure = await this.#writeBatch();
      if (failure !== undefined) return failure === 'EAGAIN' ? FULL_RETRY_MS : this.#limits.retryMs;
    }
  }

  /** False without a file to write to. The old file stays in use when the new one cannot be opened or is the same. */
  async #open(): Promise<boolean> {
    const old = this.#handle;
    let handle: FileHandle | undefined;
    this.#isReopenDue = false;
    try {
      const opened = await openTrusted(this.#options.file, OPEN_FLAGS, FILE_MODE);
      handle = opened.handle;
      const [stats, before] = await Promise.all([handle.stat(), old?.stat()]);
      const isSame = before !== undefined && before.ino === stats.ino && before.dev === stats.dev;
      if (!opened.isDescriptor) await checkOwner(opened.realPath, stats);
      const isCutShort = !isSame && stats.isFile() && !(await endsWithLine(opened.realPath, stats.size));
      if (isCutShort) await handle.write('\n');
      if (this.#isOver || isSame) {
        await handle.close();
        return !this.#isOver;
      }
      if (old !== undefined) this.#dropTornLine();
      this.#handle = handle;
      this.#realPath = opened.realPath;
      this.#isRegular = stats.isFile();
      this.#bytes = stats.size + Number(isCutShort);
      this.#unrotatedBytes = 0;
      await old?.close().catch(() => undefined);
      return true;
    } catch (cause) {
      await handle?.close().catch(() => undefined);
      this.#failed(describeFileError(cause));
      return old !== undefined;
    }
  }

  get #isRotationDue(): boolean {
    const { maxBytes } = this.#options;
    return this.#isRegular && maxBytes > 0 && this.#bytes >= this.#unrotatedBytes + maxBytes;
  }

  /** Rotates the file and opens a new one; false as in `#open`. */
  async #rotate(): Promise<boolean> {
    const { maxBytes, keep } = this.#options;
    try {
      const { size } = (await this.#handle?.stat()) ?? { size: 0 };
      if (size < maxBytes) {
        // Another program has truncated it.
        this.#bytes = size;
        return true;
      }
      await shiftFiles(this.#realPath, keep);
    } catch (cause) {
      this.#unrotatedBytes = this.#bytes;
      this.#failed(describeFileError(cause));
      return true;
    }
    this.#counts.rotations += 1;
    await this.#closeHandle();
    return await this.#open();
  }

  /** Writes as many lines as one write takes. Returns the error code, or undefined. */
  async #writeBatch(): Promise<string | undefined> {
    const [first = Buffer.alloc(0), ...others] = this.#lines.slice(0, BATCH_LINES);
    try {
      const batch = [first.subarray(this.#writtenOfFirst), ...others];
      this.#wrote((await this.#handle?.writev(batch))?.bytesWritten ?? 0);
      return undefined;
    } catch (cause) {
      const code = describeFileError(cause);
      // A slow reader is not a failure as long as the queue has room.
      if (code !== 'EAGAIN') this.#failed(code);
      if (!TRANSIENT.has(code)) {
        this.#dropTornLine();
        await this.#closeHandle();
      }
      return code;
    }
  }

  #wrote(bytes: number): void {
    // `close` has counted these lines as lost.
    if (this.#isOver) return;
    this.#bytes += bytes;
    let count = 0;
    this.#writtenOfFirst += bytes;
    for (let line = this.#lines[0]; line !== undefined && line.length <= this.#writtenOfFirst; ) {
      this.#writtenOfFirst -= line.length;
      count += 1;
      line = this.#lines[count];
    }
    this.#lines.splice(0, count);
    this.waitingBytes -= bytes;
    this.#counts.written += count;
  }

  /** Drops the rest of a partly written line, since its beginning is in the file that is being left. */
  #dropTornLine(): void {
    if (this.#writtenOfFirst === 0) return;
    this.waitingBytes -= (this.#lines.shift()?.length ?? 0) - this.#writtenOfFirst;
    this.#writtenOfFirst = 0;
    this.#countLost(1);
  }

  async #closeHandle(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close().catch(() => undefined);
  }

  #countLost(lines: number): void {
    this.#counts.lost += lines;
    if (lines > 0 && !this.#isTroubled && !this.#isClosed) this.#warnOnce('its reader is too slow');
  }

  #failed(reason: string): void {
    this.#counts.failures += 1;
    if (!this.#isTroubled) this.#warnOnce(reason);
  }

  /** Logs the first failure only, until writing has recovered. */
  #warnOnce(reason: string): void {
    this.#isTroubled = true;
    const fields = { code: 'D2S_ERR_ACCESS_LOG', file: this.#options.file, reason };
    this.#logger.warn(fields, 'the access log cannot be written: lines that do not fit into memory are lost');
  }

  #recovered(): void {
    if (!this.#isTroubled) return;
    this.#isTroubled = false;
    const lost = this.#counts.lost - this.#reportedLost;
    this.#reportedLost = this.#counts.lost;
    this.#logger.info({ file: this.#options.file, lost }, 'the access log is written again');
  }
}

/**
 * Renames `path` to `path.1`, `path.1` to `path.2` and so on, up to `keep`; the oldest file is overwritten. With `keep`
 * 0, `path` itself is deleted. Rejects with the system's error, or with UntrustedFileError for a link or another user's
 * file; then the youngest file is intact.
 */
export async function shiftFiles(path: string, keep: number): Promise<void> {
  if (keep === 0) {
    await removeOwn(path);
    return;
  }
  for (let number = keep - 1; number >= 1; number -= 1)
    await renameTrusted(`${path}.${number}`, `${path}.${number + 1}`);
  await renameTrusted(path, `${path}.1`);
}
