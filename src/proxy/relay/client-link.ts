import type { Socket } from 'node:net';
import { resetConnection } from '../../tls/reset.ts';
import type { AddedTime } from '../exchange/added-time.ts';
import type { ReadBuffer } from '../upstream/read-buffer.ts';
import type { ClientReads } from './client-reads.ts';
import type { RelayServices } from './relay-context.ts';
import type { Watched } from './silence-watch.ts';
import { DeferredWriter } from './write-batch.ts';

/** How long a client may go on sending into a connection that we have closed, so that it can read the answer first. */
const LINGER_MS = 2_000;

/** What a client's connection tells its owner. */
export interface ClientListener {
  /** A held exchange, in which a client that does not send is not idle. */
  readonly isHeld: boolean;
  /** With `buffer` the bytes are in it, and only valid during the call. */
  onClientBytes(bytes: Buffer, buffer: ReadBuffer | undefined): void;
  /** The client has closed its side; we have not closed ours. */
  onClientEnd(): void;
  /** It takes no more, until `onClientDrain`. */
  onClientFull(): void;
  onClientDrain(): void;
  /** Called from time to time: writes below the high-water mark wait without `onClientFull`. */
  onLook(): void;
  /** The client has reset the connection; `onClientClosed` follows. */
  onClientReset(): void;
  onClientClosed(): void;
}

/** The client's side of a relayed connection: its socket, with all that it does besides giving bytes. */
export class ClientLink implements Watched {
  readonly #socket: Socket;
  readonly #reads: ClientReads | undefined;
  readonly #listener: ClientListener;
  readonly #services: RelayServices;
  readonly #added: AddedTime;
  readonly #writer: DeferredWriter;
  #lingerTimer: NodeJS.Timeout | undefined;
  #isDetached = false;
  /** Reads and writes so far, and when it was looked at last. */
  #moves = 0;
  #movesSeen = -1;
  /** Its socket has a timer of its own. */
  #isTimed = false;
  #isHalfClosedLimited = false;
  /** The client has closed its side. */
  hasEnded = false;
  /** We have closed ours, behind what is written. */
  isClosing = false;
  /** Its socket is not read for now. */
  isPaused = false;

  /** Without `reads`, which are those of `socket`, it is read as a stream. */
  constructor(socket: Socket, reads: ClientReads | undefined, listener: ClientListener, services: RelayServices) {
    this.#socket = socket;
    this.#reads = reads;
    this.#listener = listener;
    this.#services = services;
    this.#added = services.reporter.added.response;
    this.#writer = new DeferredWriter(services.writes, this.#added, this.#onFull);
    services.silence.add(this);
    if (reads === undefined) socket.on('data', this.#onBytes);
    else reads.listener = this.#onBytes;
    socket.on('end', this.#onEnd);
    socket.on('drain', this.#onDrain);
    socket.on('timeout', this.#onTimeout);
    socket.on('error', this.#onError);
    socket.on('close', this.#onClose);
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  get unsentBytes(): number {
    return this.#isDetached || this.#socket.destroyed ? 0 : this.#socket.writableLength;
  }

  get sentBytes(): number {
    return this.#socket.bytesWritten - this.#socket.writableLength;
  }

  get idleTimeoutMs(): number {
    return this.#services.options.idleTimeoutMs;
  }

  /** Of the silence watch: times a socket on which nothing has moved since the last time, and only such a one. */
  look(everyMs: number): void {
    this.#listener.onLook();
    const { idleTimeoutMs } = this;
    const isSilent = this.#moves === this.#movesSeen && idleTimeoutMs > 0;
    this.#movesSeen = this.#moves;
    if (isSilent === this.#isTimed || this.#isHalfClosedLimited) return;
    this.#isTimed = isSilent;
    // It has been silent for that long at least. Node sets the timer anew when it moves, and knows a slow reader from one that stands still.
    this.#socket.setTimeout(isSilent ? Math.max(1, idleTimeoutMs - everyMs) : 0);
  }

  /** Writes latin1 `text`, which should be short, at the end of this turn. `sinceNs`: what `AddedTime.sample` gave for it. */
  writeSoon(text: string, sinceNs = 0): void {
    this.#moves += 1;
    this.#writer.write(this.#socket, text, sinceNs);
  }

  /**
   * False, like a socket's, when it wants no more before `onClientDrain`; `sinceNs` as above; `buffer`: the one that `bytes` are in,
   * if not their own.
   */
  write(bytes: Buffer, sinceNs = 0, buffer?: ReadBuffer): boolean {
    this.#moves += 1;
    this.#writer.flush();
    const takesMore = buffer === undefined ? this.#socket.write(bytes) : buffer.pass(bytes, this.#socket);
    this.#added.written(sinceNs);
    return takesMore;
  }

  /** Writes now what waits. */
  flush(): void {
    this.#writer.flush();
  }

  /** Reads on, or not. */
  setPaused(isPaused: boolean): void {
    if (isPaused === this.isPaused || this.#isDetached) return;
    this.isPaused = isPaused;
    if (isPaused) this.#socket.pause();
    else this.#socket.resume();
  }

  /** Limits the silence of a client that has closed its side and still waits for its answer. */
  limitHalfClosed(): void {
    this.#isHalfClosedLimited = true;
    this.#socket.setTimeout(this.#services.options.halfClosedTimeoutMs);
  }

  /** Ends our side after what is written; the client may still be sending, and must not lose the answer to a reset. */
  close(): void {
    this.isClosing = true;
    this.#writer.flush();
    // Not read until all is written: else a client that sends on and reads nothing would never be silent.
    this.#socket.pause();
    this.#socket.end(() => {
      if (this.#socket.destroyed) return;
      // Node emits no 'drain' any more.
      this.#listener.onLook();
      this.#lingerTimer = setTimeout(() => this.#socket.destroy(), LINGER_MS);
      this.#socket.resume();
    });
  }

  /** Ends everything at once, behind what is written. */
  destroy(): void {
    this.#writer.flush();
    this.#socket.destroy();
  }

  /** Resets the connection; what waits to be written is lost. */
  abort(): void {
    this.#writer.clear();
    resetConnection(this.#socket);
  }

  reset(): void {
    this.#writer.flush();
    resetConnection(this.#socket);
  }

  /** Gives the socket away, as it was given to us; nothing comes from it any more. */
  detach(): Socket {
    const socket = this.#socket;
    this.#isDetached = true;
    this.#services.silence.delete(this);
    this.#writer.flush();
    socket.setTimeout(0);
    if (this.#reads !== undefined) this.#reads.listener = undefined;
    socket.off('data', this.#onBytes);
    socket.off('end', this.#onEnd);
    socket.off('drain', this.#onDrain);
    socket.off('timeout', this.#onTimeout);
    socket.off('error', this.#onError);
    socket.off('close', this.#onClose);
    return socket;
  }

  readonly #onBytes = (bytes: Buffer, buffer?: ReadBuffer): void => {
    this.#moves += 1;
    if (!this.isClosing && !this.#socket.destroyed) this.#listener.onClientBytes(bytes, buffer);
  };

  readonly #onEnd = (): void => {
    this.hasEnded = true;
    if (!this.isClosing) this.#listener.onClientEnd();
  };

  readonly #onFull = (): void => this.#listener.onClientFull();

  readonly #onDrain = (): void => {
    this.#moves += 1;
    this.#listener.onClientDrain();
  };

  readonly #onTimeout = (): void => {
    // A held long poll is silent by design until the server has something to say; cutting it would look like a server fault.
    // So would cutting a client that may not go on sending since the upstream does not read.
    if (!this.#listener.isHeld || this.hasEnded || this.#socket.writableLength > 0) {
      this.#services.reporter.hits.hit(this.hasEnded ? 'timeouts.halfClosed' : 'timeouts.idle');
      this.#socket.destroy();
      return;
    }
    // One that is not read is not seen leaving: a write of nothing fails then.
    if (this.isPaused) this.#socket.write('');
    this.#socket.setTimeout(this.idleTimeoutMs);
  };

  readonly #onError = (): void => this.#listener.onClientReset();

  readonly #onClose = (): void => {
    clearTimeout(this.#lingerTimer);
    this.#services.silence.delete(this);
    this.#listener.onClientClosed();
  };
}
