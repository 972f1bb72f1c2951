import type { Socket } from 'node:net';
import type { HeavyWork } from '../../limits/heavy-work.ts';
import { closeAfterWrites, resetConnection, revealReset } from '../../tls/connection-end.ts';
import { CANCELLED, COMPLETED, type Ending, type Exchange } from '../exchange/exchange.ts';
import type { ReadBuffer, ReadBuffers, ReadListener } from '../upstream/read-buffer.ts';
import type { TrafficServices } from '../upstream/traffic-services.ts';
import { keepAlive, type SilenceWatch, type Watched } from './silence-watch.ts';
import { SocketWriter, type WriteBatch } from './write-batch.ts';

export interface RelayServices extends TrafficServices {
  readonly writes: WriteBatch;
  readonly silence: SilenceWatch;
  readonly heavy: HeavyWork;
  readonly buffers: ReadBuffers;
}

export interface ClientListener {
  /** The exchange waits for the upstream, so the client may be silent indefinitely. */
  readonly canBeSilent: boolean;
  /** With `buffer`, `bytes` lie in it and are valid only during the call. */
  onClientBytes(bytes: Buffer, buffer: ReadBuffer | undefined): void;
  /** The client has closed its side, and ours is still open. */
  onClientEnd(): void;
  /** The socket is full until `onClientDrain`. */
  onClientFull(): void;
  onClientDrain(): void;
  /** Called every few seconds. */
  onCheck(): void;
  /** The client has reset the connection. `onClientClosed` follows. */
  onClientReset(): void;
  onClientClosed(): void;
}

/** No limit of ours counts what a closed connection leaves in the kernel, and its client may never read it. */
const MAX_LEFT_BYTES = 16 * 1024;

/** That many answers to a half-closed client wait for a sign that it has left; further ones of a pipeline count at once. */
const MAX_UNCONFIRMED = 8;

/** The client's side of a relayed connection: reads, writes, timeouts and the end of its socket. */
export class ClientLink implements ReadListener, Watched {
  readonly #socket: Socket;
  readonly #reads: ReadBuffer | undefined;
  readonly #listener: ClientListener;
  readonly #services: RelayServices;
  readonly #writer: SocketWriter;
  place = -1;
  #isDetached = false;
  #stopLeaving: (() => void) | undefined;
  readonly #unconfirmed: { readonly exchange: Exchange; readonly endedNs: number }[] = [];
  /** Number of reads and writes, now and at the last `check`. */
  #moves = 0;
  #movesSeen = -1;
  #isTimed = false;
  #isKeptAlive = false;
  #isHalfClosedLimited = false;
  hasEnded = false;
  /** We have ended our side; written data may still be on its way. */
  isClosing = false;
  isPaused = false;

  /** `reads` are the reads of `socket`. Without them the socket is read as a stream. */
  constructor(socket: Socket, reads: ReadBuffer | undefined, listener: ClientListener, services: RelayServices) {
    this.#socket = socket;
    this.#reads = reads;
    this.#listener = listener;
    this.#services = services;
    this.#writer = new SocketWriter(socket, services, services.reporter.added.response, this);
    services.silence.add(this);
    // The property of a timeout exists from the start, so that all clients' sockets have one shape: see `keepAlive`.
    socket.setTimeout(0);
    if (reads === undefined) socket.on('data', this.#onBytes);
    else reads.listener = this;
    socket.on('end', this.#onEnd);
    socket.on('drain', this.#onDrain);
    socket.on('timeout', this.#onTimeout);
    socket.on('error', this.#onError);
    socket.on('close', this.#onClose);
  }

  onRead(memory: Buffer, length: number, reads: ReadBuffer): boolean {
    this.#onBytes(memory.subarray(0, length), reads);
    return true;
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  get idleTimeoutMs(): number {
    return this.#services.options.idleTimeoutMs;
  }

  /** Called by the silence watch. Sets an idle timer on the socket if nothing has moved since the last call. */
  check(everyMs: number): void {
    if (!this.#isKeptAlive) keepAlive(this.#socket);
    this.#isKeptAlive = true;
    // Writes below the high-water mark wait without an `onClientFull`.
    this.#writer.queued.check();
    this.#listener.onCheck();
    const { idleTimeoutMs } = this;
    const isSilent = this.#moves === this.#movesSeen && idleTimeoutMs > 0;
    this.#movesSeen = this.#moves;
    if (isSilent === this.#isTimed || this.#isHalfClosedLimited) return;
    this.#isTimed = isSilent;
    // Silent for `everyMs` at least. Node restarts the timer on activity, and distinguishes a slow reader from a
    // stalled one.
    this.#socket.setTimeout(isSilent ? Math.max(1, idleTimeoutMs - everyMs) : 0);
  }

  onStalledTooLong(): void {
    this.#services.reporter.hits.hit('limits.memoryBytes');
    this.#writer.clear();
    resetConnection(this.#socket);
  }

  writeSoon(text: string, sinceNs?: number): void {
    this.#moves += 1;
    this.#writer.writeSoon(text, sinceNs);
  }

  write(bytes: Buffer, sinceNs?: number, buffer?: ReadBuffer): boolean {
    this.#moves += 1;
    const takesMore = this.#writer.write(bytes, sinceNs, buffer);
    if (!takesMore) this.#writer.queued.check();
    return takesMore;
  }

  flush(): void {
    this.#writer.flush();
  }

  setPaused(isPaused: boolean): void {
    if (isPaused === this.isPaused || this.#isDetached) return;
    this.isPaused = isPaused;
    if (isPaused) this.#socket.pause();
    else this.#socket.resume();
  }

  limitHalfClosed(): void {
    this.#isHalfClosedLimited = true;
    this.#socket.setTimeout(this.#services.options.halfClosedTimeoutMs);
  }

  /** Ends our side in order, after all writes and once they are taken. `isClientDone`: the client sends no more. */
  close(isClientDone: boolean): void {
    if (this.#unconfirmed.length > 0) {
      this.#stopLeaving ??= whenStayed(this.#socket, () => {
        this.#endUnconfirmed(COMPLETED);
        this.close(false);
      });
      return;
    }
    this.isClosing = true;
    this.#writer.flush();
    // Waiting for the client's end would cost a tenth of the connection. TLS still has to send close_notify.
    const isTaken = this.#socket.writableLength === 0 && this.#socket.bytesWritten <= MAX_LEFT_BYTES;
    if (isClientDone && isTaken && this.#reads !== undefined) this.#socket.destroy();
    else closeAfterWrites(this.#socket, () => this.#writer.queued.check());
  }

  /** Closes at once; bytes that the system has not accepted yet are lost. */
  destroy(): void {
    this.#writer.flush();
    this.#socket.destroy();
  }

  /** After the deferred text: the client must not mistake a truncated answer for a complete one. */
  reset(): void {
    this.#writer.flush();
    resetConnection(this.#socket);
  }

  /**
   * An exchange that was answered after a FIN of the client ends once its system had a second to refuse the answer.
   * False if it ends at once.
   */
  keepUnconfirmed(exchange: Exchange, endedNs: number): boolean {
    if (!this.hasEnded || this.#unconfirmed.length >= MAX_UNCONFIRMED) return false;
    this.#unconfirmed.push({ exchange, endedNs });
    this.#services.reporter.freePlace(exchange);
    return true;
  }

  #endUnconfirmed(ending: Ending): void {
    for (const { exchange, endedNs } of this.#unconfirmed.splice(0))
      this.#services.reporter.end(exchange, ending, endedNs);
  }

  /** Removes all listeners and returns the socket, for a new owner. */
  detach(): Socket {
    const socket = this.#socket;
    this.#isDetached = true;
    this.#services.silence.delete(this);
    this.#writer.flush();
    this.#writer.queued.release();
    socket.setTimeout(0);
    if (this.isPaused) socket.resume();
    if (this.#reads !== undefined) this.#reads.listener = undefined;
    socket.off('data', this.#onBytes);
    socket.off('end', this.#onEnd);
    socket.off('drain', this.#onDrain);
    socket.off('timeout', this.#onTimeout);
    socket.off('error', this.#onError);
    socket.off('close', this.#onClose);
    return socket;
  }

  onFull(): void {
    this.#writer.queued.check();
    this.#listener.onClientFull();
  }

  readonly #onBytes = (bytes: Buffer, buffer?: ReadBuffer): void => {
    this.#moves += 1;
    // A destroyed stream still emits what it has buffered.
    if (!this.isClosing && !this.#socket.destroyed) this.#listener.onClientBytes(bytes, buffer);
  };

  readonly #onEnd = (): void => {
    this.hasEnded = true;
    if (!this.isClosing) this.#listener.onClientEnd();
  };

  readonly #onDrain = (): void => {
    this.#moves += 1;
    this.#writer.queued.check();
    this.#listener.onClientDrain();
  };

  readonly #onTimeout = (): void => {
    // A held long poll is silent by design until the server has something to say; cutting it would look like a server
    // fault. The same holds for a client that we do not read because the upstream is full.
    if (!this.#listener.canBeSilent || this.hasEnded || this.#socket.writableLength > 0) {
      this.#services.reporter.hits.hit(this.hasEnded ? 'timeouts.halfClosed' : 'timeouts.idle');
      this.#socket.destroy();
      return;
    }
    // A paused socket does not report that its client has left; an empty write then fails.
    if (this.isPaused) this.#socket.write('');
    this.#socket.setTimeout(this.idleTimeoutMs);
  };

  readonly #onError = (): void => this.#listener.onClientReset();

  readonly #onClose = (): void => {
    this.#services.silence.delete(this);
    this.#stopLeaving?.();
    this.#writer.queued.release();
    this.#listener.onClientClosed();
    this.#endUnconfirmed(CANCELLED);
  };
}

/** Waits between the checks. The kernel of a client that has left refuses what is written to it, by a reset. */
const CHECKS_MS = [2, 8, 40, 150, 300, 500] as const;

/** Checks for a second whether the client's kernel refuses the last byte. Call the result at the connection's end. */
function whenStayed(socket: Socket, onStayed: () => void): () => void {
  let timer: NodeJS.Timeout;
  const wait = (check: number): void => {
    timer = setTimeout(() => {
      // A slow reader gets its second after the last byte.
      const next = socket.writableLength > 0 ? 2 : check + 1;
      revealReset(socket);
      if (next < CHECKS_MS.length) wait(next);
      // An error of the last check arrives in the next turn.
      else timer = setTimeout(onStayed, 1);
    }, CHECKS_MS[check]);
  };
  wait(0);
  return () => clearTimeout(timer);
}
