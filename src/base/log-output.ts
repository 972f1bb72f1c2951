/**
 * Where log lines go, without ever waiting for whoever takes them: a pipe that nobody reads, a full disk or a terminal that is
 * stopped must not hold the traffic. What cannot be written is lost, and counted.
 */
import { constants, fstatSync, openSync, type Stats, writeSync } from 'node:fs';
import type { Writable } from 'node:stream';

/**
 * What waits for a slow reader of a pipe, beside the 64 KiB of the kernel's: some 5,000 lines. Past that lines are lost until
 * all of it has been read, so that a reader at the limit gets a whole stretch and then a gap.
 */
const MAX_WAITING_BYTES = 1_048_576;
const FLUSH_POLL_MS = 10;

/** `process.stdout`, or what stands for it in a test. */
export type OutputStream = Pick<Writable, 'write' | 'writableLength' | 'on'>;

/** One way to write. What became of a line is told by `Told`, at once or later. */
interface Sink {
  readonly waitingBytes: number;
  write(line: string): void;
}

type Told = (isWritten: boolean) => void;

export class LogOutput {
  readonly #fd: number;
  readonly #stream: () => OutputStream;
  /** Made with the first line: most loggers of a test never write one. */
  #sink: Sink | undefined;
  #lost = 0;
  #untold = 0;
  #onRecovered: ((lost: number) => void) | undefined;

  /** `fd`: 1 or 2. `stream` is Node's own for it, asked for only where it is needed. */
  constructor(fd: number, stream: () => OutputStream) {
    this.#fd = fd;
    this.#stream = stream;
  }

  /** Lines that could not be written since the start. */
  get lostLines(): number {
    return this.#lost;
  }

  /** `listener` is told, once lines can be written again, how many were lost in between. */
  whenRecovered(listener: (lost: number) => void): void {
    this.#onRecovered = listener;
  }

  /** Never throws and never waits. `line` ends with its line feed. */
  write(line: string): void {
    this.#sink ??= createSink(this.#fd, this.#stream, this.#told);
    this.#sink.write(line);
  }

  /** Resolves when nothing waits any more, or when `limitMs` has passed. */
  async flush(limitMs: number): Promise<void> {
    for (let left = limitMs; left > 0 && (this.#sink?.waitingBytes ?? 0) > 0; left -= FLUSH_POLL_MS) {
      await new Promise((resolve) => setTimeout(resolve, FLUSH_POLL_MS));
    }
  }

  readonly #told: Told = (isWritten) => {
    if (!isWritten) {
      this.#lost += 1;
      this.#untold += 1;
      return;
    }
    if (this.#untold === 0) return;
    const lost = this.#untold;
    this.#untold = 0;
    this.#onRecovered?.(lost);
  };
}

function createSink(fd: number, stream: () => OutputStream, told: Told): Sink {
  let stats: Stats | undefined;
  try {
    stats = fstatSync(fd);
  } catch {
    // Closed: each write will fail, and be counted.
  }
  // Node's streams write to pipes and sockets (journald's) without waiting, but to files and terminals in one go.
  if (stats?.isFIFO() === true || stats?.isSocket() === true) return new StreamSink(stream(), told);
  return new DirectSink(stats?.isCharacterDevice() === true ? withoutWaiting(fd) : fd, told);
}

/**
 * The same device, opened once more: whether writes wait is a matter of each opening, and this one is shared with other
 * processes, a shell for example.
 */
function withoutWaiting(fd: number): number {
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NOCTTY | constants.O_NONBLOCK);
  } catch {
    // No /proc, or the device is another user's: then a terminal that is stopped can hold the process.
    return fd;
  }
}

class StreamSink implements Sink {
  readonly #stream: OutputStream;
  readonly #told: Told;
  #isFull = false;

  constructor(stream: OutputStream, told: Told) {
    this.#stream = stream;
    this.#told = told;
    // Told to each write as well; without a listener a reader that leaves would end the process.
    stream.on('error', () => undefined);
  }

  get waitingBytes(): number {
    return this.#stream.writableLength;
  }

  write(line: string): void {
    const waiting = this.#stream.writableLength;
    this.#isFull = waiting > 0 && (this.#isFull || waiting + line.length > MAX_WAITING_BYTES);
    if (this.#isFull) this.#told(false);
    // Tried at once: only what the kernel does not take waits.
    else this.#stream.write(line, this.#onWritten);
  }

  readonly #onWritten = (cause: Error | null | undefined): void => {
    // Of what had waited before lines were lost: whether lines can be written again is told by the last of it.
    if (cause == null && this.#isFull && this.#stream.writableLength > 0) return;
    this.#told(cause == null);
  };
}

class DirectSink implements Sink {
  readonly waitingBytes = 0;
  readonly #fd: number;
  readonly #told: Told;
  /** The end of a line whose beginning has been written: it goes first, so that no two lines become one. */
  #rest: Buffer | undefined;

  constructor(fd: number, told: Told) {
    this.#fd = fd;
    this.#told = told;
  }

  write(line: string): void {
    if (this.#rest !== undefined) this.#put(this.#rest);
    this.#told(this.#rest === undefined && this.#put(Buffer.from(line, 'utf8')));
  }

  /** Writes what fits; false if that is nothing. */
  #put(bytes: Buffer): boolean {
    let written = 0;
    try {
      while (written < bytes.length) written += writeSync(this.#fd, bytes, written);
      this.#rest = undefined;
    } catch {
      // ENOSPC, EAGAIN, EIO, EPIPE: none of them is worth more than the traffic.
      if (written > 0) this.#rest = bytes.subarray(written);
    }
    return written > 0;
  }
}
