/**
 * Writes log lines without ever blocking: an unread pipe, a full disk or a stopped terminal must not hold up traffic.
 * Lines that cannot be written are dropped and counted.
 */
import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { attempt } from './attempt.ts';
import { platform } from './platform/platform.ts';

/**
 * Bytes queued for a slow reader of a pipe, besides the 64 KiB in the kernel: some 5,000 lines. Beyond that, lines are
 * dropped until the queue is empty, so that such a reader gets a whole stretch and then a gap.
 */
const MAX_WAITING_BYTES = 1_048_576;
const FLUSH_POLL_MS = 10;

type OutputStream = Pick<Writable, 'write' | 'writableLength' | 'on'>;

/** One way to write. It reports the outcome of each line to `OnOutcome`, at once or later. */
interface Sink {
  readonly waitingBytes: number;
  write(line: string): void;
}

type OnOutcome = (isWritten: boolean) => void;

export class LogOutput {
  readonly #fd: number;
  readonly #stream: () => OutputStream;
  /** Created with the first line: most loggers of a test never write one. */
  #sink: Sink | undefined;
  lostLines = 0;
  #unreported = 0;
  /** Called once lines can be written again, with the number of lines dropped in between. */
  onRecovered: ((lost: number) => void) | undefined;

  /** `fd`: 1 or 2. `stream` returns Node's own stream for it, and is called only if needed. */
  constructor(fd: number, stream: () => OutputStream) {
    this.#fd = fd;
    this.#stream = stream;
  }

  /** Never throws and never waits. `line` ends with its line feed. */
  write(line: string): void {
    this.#sink ??= createSink(this.#fd, this.#stream, this.#onOutcome);
    this.#sink.write(line);
  }

  /** Resolves when the queue is empty, or after `limitMs`. */
  async flush(limitMs: number): Promise<void> {
    for (let left = limitMs; left > 0 && (this.#sink?.waitingBytes ?? 0) > 0; left -= FLUSH_POLL_MS) {
      await new Promise((resolve) => setTimeout(resolve, FLUSH_POLL_MS));
    }
  }

  readonly #onOutcome: OnOutcome = (isWritten) => {
    if (!isWritten) {
      this.lostLines += 1;
      this.#unreported += 1;
      return;
    }
    if (this.#unreported === 0) return;
    const lost = this.#unreported;
    this.#unreported = 0;
    this.onRecovered?.(lost);
  };
}

function createSink(fd: number, stream: () => OutputStream, onOutcome: OnOutcome): Sink {
  // Undefined if it is closed: each write will fail, and be counted.
  const stats = attempt(() => fstatSync(fd));
  // Node's streams write to pipes and sockets (journald's) without blocking, but block on files and terminals.
  if (stats?.isFIFO() === true || stats?.isSocket() === true) return createStreamSink(stream(), onOutcome);
  return createDirectSink(stats?.isCharacterDevice() === true ? withoutWaiting(fd) : fd, onOutcome);
}

/** Opens the same device again, with O_NONBLOCK: other processes, e.g. a shell, share the existing opening. */
function withoutWaiting(fd: number): number {
  const flags = constants.O_WRONLY | platform.noWaitFlags;
  // Without /proc, or if the device belongs to another user, a stopped terminal can block the process.
  return attempt(() => openSync(`${platform.procPath}/self/fd/${fd}`, flags)) ?? fd;
}

function createStreamSink(stream: OutputStream, onOutcome: OnOutcome): Sink {
  let isFull = false;
  // Each write also gets the error. Without this listener, a reader that leaves would end the process.
  stream.on('error', () => undefined);
  const onWritten = (cause: Error | null | undefined): void => {
    // This line was queued before lines were dropped. Only the last queued line shows that lines can be written again.
    if (cause == null && isFull && stream.writableLength > 0) return;
    onOutcome(cause == null);
  };
  return {
    get waitingBytes() {
      return stream.writableLength;
    },
    write(line) {
      const waiting = stream.writableLength;
      isFull = waiting > 0 && (isFull || waiting + line.length > MAX_WAITING_BYTES);
      if (isFull) onOutcome(false);
      // Node writes at once, and queues only what the kernel does not accept.
      else stream.write(line, onWritten);
    },
  };
}

function createDirectSink(fd: number, onOutcome: OnOutcome): Sink {
  /** The end of a partly written line. It is written first, so that two lines never become one. */
  let rest: Buffer | undefined;
  const put = (bytes: Buffer): boolean => {
    let written = 0;
    try {
      while (written < bytes.length) written += writeSync(fd, bytes, written);
      rest = undefined;
    } catch {
      // ENOSPC, EAGAIN, EIO, EPIPE: the line is dropped, because the traffic matters more.
      if (written > 0) rest = bytes.subarray(written);
    }
    return written > 0;
  };
  return {
    waitingBytes: 0,
    write(line) {
      if (rest !== undefined) put(rest);
      onOutcome(rest === undefined && put(Buffer.from(line, 'utf8')));
    },
  };
}
