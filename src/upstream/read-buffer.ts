import type { Socket } from 'node:net';

/**
 * Where reads of connections go. Most requests and answers are small: one buffer that all connections share costs nothing for
 * each, and whoever passes its bytes on copies them. A connection that fills it gets a buffer of its own for as long as it is
 * read in large pieces, and its bytes are passed on without a copy: copying took a third off the throughput of 1 MB answers.
 */

/** One read takes up to this much. */
const READ_BUFFER_BYTES = 64 * 1024;
/** Below this a connection is not read in large pieces any more. */
const LARGE_READ_BYTES = READ_BUFFER_BYTES / 2;
/** Buffers kept for the next connection that needs one, 1 MB in all. */
const MAX_FREE_BUFFERS = 16;

/** What the connections of one side share. */
export class ReadBuffers {
  // Reads never overlap: libuv fills the buffer and the callback consumes it before the next read of any socket.
  readonly shared = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
  readonly #free: Buffer[] = [];

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
  }

  giveBack(buffer: Buffer): void {
    if (this.#free.length < MAX_FREE_BUFFERS) this.#free.push(buffer);
  }
}

/** The buffer of one connection. */
export class ReadBuffer {
  readonly #buffers: ReadBuffers;
  #own: Buffer | undefined;

  constructor(buffers: ReadBuffers) {
    this.#buffers = buffers;
  }

  /**
   * Writes `part` of the last read to `socket`, which may hold on to it when it cannot send all at once; false, like `write`,
   * when it wants no more before its `drain`.
   */
  pass(part: Buffer, socket: Socket): boolean {
    if (this.#own === undefined) return socket.write(Buffer.from(part));
    const canGoOn = socket.write(part);
    // Not all has been sent yet: the next read must not go where the rest waits.
    if (socket.writableLength > 0) this.#own = this.#buffers.take();
    return canGoOn;
  }

  /** What the next read is to fill; asked for after each read. */
  readonly next = (): Buffer => this.#own ?? this.#buffers.shared;

  /** To be called when the `length` bytes of a read have been taken care of. */
  onRead(length: number): void {
    if (length === READ_BUFFER_BYTES) {
      this.#own ??= this.#buffers.take();
    } else if (length < LARGE_READ_BYTES && this.#own !== undefined) {
      this.#buffers.giveBack(this.#own);
      this.#own = undefined;
    }
  }
}
