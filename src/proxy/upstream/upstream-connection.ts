import net from 'node:net';
import { TLSSocket } from 'node:tls';
import type { HostPort } from '../../config/config.ts';
import { classifyUpstreamFailure, UpstreamFailure } from '../exchange/upstream-failure.ts';
import { isDoubtfulEnd } from './doubtful-end.ts';
import { PhaseTimer } from './phase-timer.ts';
import { ReadBuffer, type ReadBuffers } from './read-buffer.ts';
import type { DialOptions, SharedLookup } from './shared-lookup.ts';
import { onAccepted, type UpstreamTls } from './upstream-tls.ts';

/** Events of a connection to the upstream. None follows `onUpstreamClosed`. */
export interface UpstreamListener {
  /**
   * `bytes` up to `length` are valid only during the call, since the next read reuses the memory. `buffer`, if given,
   * writes them to another socket. Returning false pauses reading until the socket's `resume`.
   */
  onUpstreamBytes(upstream: net.Socket, bytes: Buffer, length: number, buffer: ReadBuffer | undefined): boolean;
  onUpstreamDrain(upstream: net.Socket): void;
  /** The connection has ended. `failure` is undefined if the upstream closed its side in order. */
  onUpstreamClosed(upstream: net.Socket, failure: UpstreamFailure | undefined): void;
}

interface ConnectionOptions {
  readonly connectTimeoutMs: number;
  readonly buffers: ReadBuffers;
  /** Told whether the upstream accepts the connection. */
  readonly reachability: { noteReachable(): void; noteUnreachable(failure: UpstreamFailure): void };
}

/** One connection to the upstream. It reports to its listener until it becomes a stream for another owner. */
export class UpstreamConnection {
  readonly socket: net.Socket;
  readonly #options: ConnectionOptions;
  readonly #isSecure: boolean;
  readonly #timer = new PhaseTimer();
  #listener: UpstreamListener | undefined;
  #onEnded: ((failure: UpstreamFailure | undefined) => void) | undefined;
  #phase: 'connect' | 'handshake' | 'wait' = 'connect';
  #failure: UpstreamFailure | undefined;
  #isAccepted = false;
  #isClosed = false;

  constructor(
    address: HostPort,
    listener: UpstreamListener | undefined,
    options: ConnectionOptions,
    names: SharedLookup,
    tls: UpstreamTls | undefined,
  ) {
    this.#options = options;
    this.#listener = listener;
    this.#isSecure = tls !== undefined;
    const dialOptions = names.dialOptions(options.connectTimeoutMs);
    this.socket = tls === undefined ? this.#dial(address, dialOptions) : tls.connect(dialOptions);
    names.watch(this.socket);
    this.#timer.start(options.connectTimeoutMs, this.#giveUp);
    this.#listen();
  }

  get failure(): UpstreamFailure | undefined {
    return this.#failure;
  }

  /** It can serve another request. Call only between two exchanges. */
  get isUsable(): boolean {
    const { socket } = this;
    return this.#phase === 'wait' && !this.#isClosed && socket.writable && socket.writableLength === 0;
  }

  /**
   * Makes the socket an ordinary stream. Instead of a listener, `onEnded` is called once when the connection has ended,
   * with its failure, or undefined if the upstream closed its side in order.
   */
  becomeStream(onEnded: (failure: UpstreamFailure | undefined) => void): net.Socket {
    const { socket } = this;
    this.#listener = undefined;
    this.#onEnded = onEnded;
    socket.off('data', this.#onData);
    socket.off('drain', this.#onDrain);
    socket.resume();
    return socket;
  }

  forget(): void {
    this.#onEnded = undefined;
    this.socket.off('end', this.#onEnd);
    this.socket.off('close', this.#onClosed);
  }

  #dial({ host, port }: HostPort, dialOptions: DialOptions): net.Socket {
    const buffer = new ReadBuffer(this.#options.buffers);
    const socket: net.Socket = net.connect({
      host,
      port,
      noDelay: true,
      ...dialOptions,
      // Reading into our own buffers saves a stream chunk per read.
      onread: {
        buffer: buffer.next,
        callback: (length, bytes) => {
          const canGoOn =
            this.#listener === undefined
              ? socket.push(Buffer.from(bytes.subarray(0, length)))
              : this.#listener.onUpstreamBytes(socket, bytes as Buffer, length, buffer);
          buffer.onRead(length);
          // The listener resumes a socket that it has stopped.
          return canGoOn && buffer.mayReadOn(length, socket);
        },
      },
    });
    socket.once('close', buffer.release);
    return socket;
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
      socket.on('connect', this.#onAccepted);
    }
    socket.on('drain', this.#onDrain);
    // Stays for the socket's whole life: between two owners nothing else listens.
    socket.on('error', (cause) => {
      this.#failure = classifyUpstreamFailure(cause, this.#phase);
      // In TLS 1.3 the server may refuse our certificate after the handshake.
      const isRefused = this.#failure.code === 'D2S_ERR_UPSTREAM_TLS' && !this.#isAccepted;
      if (this.#phase !== 'wait' || isRefused) this.#options.reachability.noteUnreachable(this.#failure);
    });
    socket.prependListener('end', this.#onEnd);
    socket.on('close', this.#onClosed);
  }

  readonly #giveUp = (): void => {
    this.socket.destroy(new UpstreamFailure('D2S_ERR_UPSTREAM_CONNECT_TIMEOUT'));
  };

  readonly #onReady = (): void => {
    this.#phase = 'wait';
    this.#timer.stop();
  };

  readonly #onAccepted = (): void => {
    if (this.#isAccepted) return;
    this.#isAccepted = true;
    this.#options.reachability.noteReachable();
  };

  readonly #onData = (bytes: Buffer): void => {
    this.#onAccepted();
    if (this.#listener?.onUpstreamBytes(this.socket, bytes, bytes.length, undefined) !== true) this.socket.pause();
  };

  readonly #onDrain = (): void => this.#listener?.onUpstreamDrain(this.socket);

  readonly #onEnd = (): void => {
    // During the handshake an 'error' follows.
    if (this.#phase !== 'wait') return;
    const onKnown = (cause: Error | undefined) => {
      this.#failure = cause && classifyUpstreamFailure(cause, this.#phase);
      this.#onClosed();
    };
    if (this.#isSecure || !isDoubtfulEnd(this.socket, onKnown)) this.#onClosed();
  };

  readonly #onClosed = (): void => {
    this.#timer.stop();
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#listener?.onUpstreamClosed(this.socket, this.#failure);
    this.#onEnded?.(this.#failure);
  };
}
