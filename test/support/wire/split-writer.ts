import { Buffer } from 'node:buffer';
import type { Socket } from 'node:net';

/** Enough event loop turns for the receiver, which is in the same process, to read everything that was flushed. */
const TURNS_BETWEEN_PARTS = 3;

/** Writes to a socket. At one offset (if given) it flushes, and lets the other side read, before it sends the rest. */
export class SplitWriter {
  readonly #socket: Socket;
  readonly #splitAt: number;
  #written = 0;

  constructor(socket: Socket, splitAt = -1) {
    this.#socket = socket;
    this.#splitAt = splitAt;
    // Nagle's algorithm would join the two parts.
    socket.setNoDelay(true);
  }

  /** Strings are latin1. Resolves when the bytes are in the kernel, or when the socket has failed. */
  async write(data: string | Buffer): Promise<void> {
    const bytes = typeof data === 'string' ? Buffer.from(data, 'latin1') : data;
    const at = this.#splitAt - this.#written;
    this.#written += bytes.length;
    if (at <= 0 || at >= bytes.length) return this.#flush(bytes);
    await this.#flush(bytes.subarray(0, at));
    await turns(TURNS_BETWEEN_PARTS);
    await this.#flush(bytes.subarray(at));
  }

  #flush(bytes: Buffer): Promise<void> {
    if (bytes.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      // A failed write is not a failure of the script: its effect is what the case observes.
      this.#socket.write(bytes, () => resolve());
    });
  }
}

export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
