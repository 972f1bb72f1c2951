import net from 'node:net';
import { TLSSocket } from 'node:tls';
import { PhaseTimer } from '../../base/clock.ts';
import type { HostPort } from '../../config/config.ts';
import { classifyUpstreamFailure, UpstreamFailure } from '../exchange/upstream-failure.ts';
import { ReadBuffer, type ReadBuffers, type ReadListener } from './read-buffer.ts';
import type { SharedLookup } from './shared-lookup.ts';
import { onAccepted, type UpstreamTls } from './upstream-tls.ts';

/** Events of a connection to the upstream. None follows `onUpstreamClosed`. */
export interface UpstreamListener {
  /**
   * `bytes` up to `length` are valid only during the call; `buffer`, if given, writes them to another socket. Returning
   * false pauses reading until the socket's `resume`.
   */
  onUpstreamBytes(bytes: Buffer, length: number, buffer: ReadBuffer | undefined): boolean;
  onUpstreamDrain(): void;
  /** The connection has ended. `failure` is undefined if the upstream closed its side in order. */
  onUpstreamClosed(failure: UpstreamFailure | undefined): void;
}

/** The same for all connections. */
export interface ConnectionParts {
  readonly address: HostPort;
  readonly names: SharedLookup;
  readonly tls: UpstreamTls | undefined;
  readonly buffers: ReadBuffers;
}

interface ReachabilityListener {
  noteReachable(): void;
  noteUnreachable(failure: UpstreamFailure): void;
}

/** One connection to the upstream. It reports to its listener until that leaves it, or it becomes a stream. */
export class UpstreamConnection implements ReadListener {
  readonly socket: net.Socket;
  readonly #tls: UpstreamTls | undefined;
  readonly #reachability: ReachabilityListener;
  readonly #reads: ReadBuffer;
  readonly #timer = new PhaseTimer();
  #listener: UpstreamListener | undefined;
  #onEnded: ((failure: UpstreamFailure | undefined) => void) | undefined;
  #phase: 'connect' | 'handshake' | 'wait' = 'connect';
  failure: UpstreamFailure | undefined;
  #isAccepted = false;
  #isClosed = false;

  constructor(
    listener: UpstreamListener | undefined,
    { address: { host, port }, names, tls, buffers }: ConnectionParts,
    connectTimeoutMs: number,
    reachability: ReachabilityListener,
  ) {
    this.#listener = listener;
    this.#tls = tls;
    this.#reachability = reachability;
    this.#reads = new ReadBuffer(buffers);
    const dialOptions = names.dialOptions(connectTimeoutMs);
    if (tls === undefined) {
      const { next: buffer, onRead: callback } = this.#reads;
      this.socket = net.connect({ host, port, noDelay: true, ...dialOptions, onread: { buffer, callback } });
      this.#reads.listener = this;
      this.#reads.use(this.socket);
    } else this.socket = tls.connect(dialOptions);
    names.watch(this.socket);
    this.#timer.start(connectTimeoutMs, () => {
      this.socket.destroy(new UpstreamFailure('D2S_ERR_UPSTREAM_CONNECT_TIMEOUT'));
    });
    this.#listen();
  }

  /** It can serve another request. Call only between two exchanges. */
  get isUsable(): boolean {
    const { socket } = this;
    return this.#phase === 'wait' && !this.#isClosed && socket.writable && socket.writableLength === 0;
  }

  /** Makes the socket an ordinary stream. Instead of a listener, `onEnded` is called once, at its end. */
  becomeStream(onEnded: (failure: UpstreamFailure | undefined) => void): net.Socket {
    const { socket } = this;
    this.#listener = undefined;
    this.#reads.listener = undefined;
    this.#onEnded = onEnded;
    socket.off('data', this.#onData);
    socket.off('drain', this.#onDrain);
    socket.resume();
    return socket;
  }

  /** Reports nothing more to the listener. If the upstream still sends something, the connection ends. */
  leave(): void {
    this.#listener = undefined;
  }

  forget(): void {
    this.#onEnded = undefined;
    this.socket.off('end', this.#onEnd);
    this.socket.off('close', this.#onClosed);
  }

  #listen(): void {
    const { socket } = this;
    if (socket instanceof TLSSocket) {
      // A TLS stream emits chunks with their own memory, and keeps decrypted bytes while it is paused.
      socket.on('data', this.#onData);
      socket.on('connect', () => {
        this.#phase = 'handshake';
      });
      socket.on('secureConnect', this.#onReady);
      onAccepted(socket, this.#onAccepted);
    } else {
      socket.on('connect', this.#onReady);
    }
    socket.on('drain', this.#onDrain);
    // Stays for the socket's whole life: between two owners nothing else listens.
    socket.on('error', (cause) => {
      this.failure = classifyUpstreamFailure(cause, this.#phase);
      const isTls = this.failure.code === 'D2S_ERR_UPSTREAM_TLS';
      if (isTls) this.#tls?.noteFailure(cause);
      // In TLS 1.3 the server may refuse our certificate after the handshake.
      if (this.#phase !== 'wait' || (isTls && !this.#isAccepted)) this.#reachability.noteUnreachable(this.failure);
    });
    socket.prependListener('end', this.#onEnd);
    socket.on('close', this.#onClosed);
  }

  readonly #onReady = (): void => {
    this.#phase = 'wait';
    this.#timer.stop();
    if (this.#tls === undefined) this.#onAccepted();
  };

  readonly #onAccepted = (): void => {
    if (this.#isAccepted) return;
    this.#isAccepted = true;
    this.#reachability.noteReachable();
  };

  readonly #onData = (bytes: Buffer): void => {
    this.#onAccepted();
    if (!this.onRead(bytes, bytes.length, undefined)) this.socket.pause();
  };

  onRead(bytes: Buffer, length: number, buffer: ReadBuffer | undefined): boolean {
    if (this.#listener !== undefined) return this.#listener.onUpstreamBytes(bytes, length, buffer);
    this.socket.destroy();
    return false;
  }

  readonly #onDrain = (): void => this.#listener?.onUpstreamDrain();

  readonly #onEnd = (): void => {
    // During the handshake an 'error' follows.
    if (this.#phase !== 'wait') return;
    const onKnown = (cause: Error | undefined) => {
      this.failure = cause && classifyUpstreamFailure(cause, this.#phase);
      this.#onClosed();
    };
    if (this.#tls !== undefined || !isDoubtfulEnd(this.socket, onKnown)) this.#onClosed();
  };

  readonly #onClosed = (): void => {
    this.#timer.stop();
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#listener?.onUpstreamClosed(this.failure);
    this.#onEnded?.(this.failure);
  };
}

/**
 * Distinguishes a reset from an orderly end: libuv reports a reset that it reads together with the last bytes as an end
 * (until libuv#4997). For plain TCP only. Call at the socket's 'end', before Node's own listener, which makes `write`
 * fail. False: the peer is still there, or we have closed our side, which makes a reset indistinguishable. True:
 * `onKnown` follows shortly, with the error after a reset, or with undefined after an orderly end.
 */
function isDoubtfulEnd(socket: net.Socket, onKnown: (cause: Error | undefined) => void): boolean {
  // An orderly end leaves a peer (getpeername(2)). Node caches `remoteAddress`, so no code may have read it before.
  if (socket.writableEnded || socket.remoteAddress !== undefined) return false;
  // An empty write returns the system's error: EPIPE if the reset came after the end (Linux, `tcp_reset`).
  socket.write('', (cause) =>
    onKnown((cause as NodeJS.ErrnoException | null)?.code === 'ECONNRESET' ? (cause ?? undefined) : undefined),
  );
  return true;
}
