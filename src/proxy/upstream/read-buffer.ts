import type { Socket } from 'node:net';

/**
 * Where reads of connections go. Most requests and answers are small: one buffer that all connections share costs nothing for
 * each, and whoever passes its bytes on copies them. A connection that fills it gets a buffer of its own for as long as it is
 * read in large pieces, and its bytes are passed on without a copy: copying took a third off the throughput of 1 MB answers.
 */

/** One read takes up to this much. */
export const READ_BUFFER_BYTES = 64 * 1024;
/** Below this a connection is not read in large pieces any more. */
const LARGE_READ_BYTES = READ_BUFFER_BYTES / 2;
/**
 * Full reads of one connection in a turn of the event loop. The event loop's library reads up to 32 of them in a row: hundreds of clients
 * that send as fast as they can would keep all others waiting for a second.
 */
const FULL_READS_A_TURN = 2;
/** Buffers kept for the next connection that needs one, 1 MB in all. */
const MAX_FREE_BUFFERS = 16;

/** What the connections of one side share. */
export class ReadBuffers {
  // Reads never overlap: libuv fills the buffer and the callback consumes it before the next read of any socket.
  readonly shared = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
  readonly #free: Buffer[] = [];
  #turn = 0;
  #isTurnEnding = false;

  /** Number of the turn of the event loop, of those in which this was asked for. */
  get turn(): number {
    if (!this.#isTurnEnding) {
      this.#isTurnEnding = true;
      setImmediate(() => {
        this.#isTurnEnding = false;
        this.#turn += 1;
      });
    }
    return this.#turn;
  }

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
  /** Of the turn in which it was read last. */
  #turn = -1;
  #fullReads = 0;

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

  /**
   * Whether `socket`, of which `length` bytes have just been read, may be read again in this turn. If not, it must not be read any
   * more, and goes on by itself in the next turn unless it has been paused by then.
   */
  hasTurn(length: number, socket: Socket): boolean {
    // There is no more for now.
    if (length < READ_BUFFER_BYTES) return true;
    const { turn } = this.#buffers;
    if (turn !== this.#turn) this.#fullReads = 0;
    this.#turn = turn;
    this.#fullReads += 1;
    if (this.#fullReads < FULL_READS_A_TURN) return true;
    setImmediate(() => {
      if (!socket.destroyed && !socket.isPaused()) socket.resume();
    });
    return false;
  }
}
