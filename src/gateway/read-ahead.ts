import type { Socket } from 'node:net';

/**
 * Reads on behind a request for an upgrade, which Node's server lets go of at once, until the upstream has answered it: only a
 * socket that is read shows that its client has left. What comes is kept, up to a bound; past that the socket waits unread.
 */
export class ReadAhead {
  readonly #socket: Socket;
  readonly #maxBytes: number;
  readonly #chunks: Buffer[];
  #bytes: number;
  #isStopped = false;

  /** `leftover`: what came together with the head. */
  constructor(socket: Socket, leftover: Buffer, maxBytes: number) {
    this.#socket = socket;
    this.#maxBytes = maxBytes;
    this.#chunks = [leftover];
    this.#bytes = leftover.length;
    socket.on('data', this.#onData);
  }

  /** Whoever reads the socket next gets all of it; to be called before anybody does. Without effect after `drop`. */
  giveBack(): void {
    if (!this.#stop()) return;
    this.#socket.pause();
    const ahead = Buffer.concat(this.#chunks.splice(0));
    // A stream that has ended takes nothing back: such a client has said its last word before it was let in.
    if (ahead.length > 0 && !this.#socket.readableEnded) this.#socket.unshift(ahead);
  }

  /** Nobody wants it, nor what comes behind it. Without effect after `giveBack`. */
  drop(): void {
    if (!this.#stop()) return;
    this.#chunks.length = 0;
    this.#socket.resume();
  }

  #stop(): boolean {
    if (this.#isStopped) return false;
    this.#isStopped = true;
    this.#socket.off('data', this.#onData);
    return true;
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes >= this.#maxBytes) this.#socket.pause();
  };
}
