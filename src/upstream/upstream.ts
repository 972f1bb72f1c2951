/**
 * Dialling the application server. Knows addresses, time limits and reachability; knows nothing of HTTP.
 */
import net from 'node:net';
import { type Clock, NS_PER_S } from '../clock.ts';
import type { HostPort } from '../config/config.ts';
import { toUpstreamFailure, UpstreamFailure } from '../exchange/upstream-failure.ts';

/** What a connection to the upstream tells its owner; after `onUpstreamClosed` nothing more comes. */
export interface UpstreamListener {
  /**
   * `bytes` up to `length` are only valid during the call: the memory is used again for the next read, of any connection.
   * Returning false pauses reading until the socket's `resume`.
   */
  onUpstreamBytes(upstream: net.Socket, bytes: Buffer, length: number): boolean;
  onUpstreamDrain(upstream: net.Socket): void;
  /** The connection has ended: `failure` is undefined when the upstream closed its side in order. */
  onUpstreamClosed(upstream: net.Socket, failure: UpstreamFailure | undefined): void;
}

/** Whether the upstream took the last connection that was tried, and since when it is like that. */
export type Reachability =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'reachable'; readonly sinceEpochMs: number }
  | { readonly kind: 'unreachable'; readonly sinceEpochMs: number; readonly failure: UpstreamFailure };

export interface UpstreamOptions extends HostPort {
  readonly connectTimeoutMs: number;
}

/** One read takes up to this much. All connections share one such buffer, so it costs nothing for each. */
const READ_BUFFER_BYTES = 64 * 1024;

const PROBE_INTERVAL_NS = NS_PER_S;
const PROBE_TIMEOUT_MS = 1_000;

export class Upstream {
  readonly #options: UpstreamOptions;
  readonly #clock: Clock;
  // Reads never overlap: libuv fills the buffer and the callback consumes it before the next read of any socket.
  readonly #readBuffer = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
  #reachability: Reachability = { kind: 'unknown' };
  #lastProbe: { readonly atNs: number; readonly isReachable: Promise<boolean> } | undefined;

  constructor(options: UpstreamOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  get reachability(): Reachability {
    return this.#reachability;
  }

  /** Opens a connection. What is written before it stands waits in the socket. */
  connect(listener: UpstreamListener): net.Socket {
    let isConnected = false;
    let failure: UpstreamFailure | undefined;
    let isClosed = false;
    const { host, port, connectTimeoutMs } = this.#options;
    const socket: net.Socket = net.connect({
      host,
      port,
      noDelay: true,
      keepAlive: true,
      autoSelectFamily: true,
      // Reading into one buffer spares a stream chunk for each read.
      onread: {
        buffer: this.#readBuffer,
        callback: (length, bytes) => listener.onUpstreamBytes(socket, bytes as Buffer, length),
      },
    });
    const giveUp = () => socket.destroy(new UpstreamFailure('D2S_ERR_UPSTREAM_CONNECT_TIMEOUT'));
    const timer = setTimeout(giveUp, connectTimeoutMs);
    const onClosed = () => {
      clearTimeout(timer);
      if (isClosed) return;
      isClosed = true;
      listener.onUpstreamClosed(socket, failure);
    };
    socket.on('connect', () => {
      isConnected = true;
      clearTimeout(timer);
      this.#noteReachable();
    });
    socket.on('drain', () => listener.onUpstreamDrain(socket));
    socket.on('error', (cause) => {
      failure = toUpstreamFailure(cause, isConnected ? 'wait' : 'connect');
      if (!isConnected) this.#noteUnreachable(failure);
    });
    socket.on('end', onClosed);
    socket.on('close', onClosed);
    return socket;
  }

  /** Whether the upstream takes a connection now; asked at most once a second. */
  probe(): Promise<boolean> {
    const nowNs = this.#clock.nowNs();
    if (this.#lastProbe === undefined || nowNs - this.#lastProbe.atNs > PROBE_INTERVAL_NS) {
      this.#lastProbe = { atNs: nowNs, isReachable: this.#probeNow() };
    }
    return this.#lastProbe.isReachable;
  }

  #probeNow(): Promise<boolean> {
    return new Promise((resolve) => {
      const { host, port } = this.#options;
      const socket = net.connect({ host, port, autoSelectFamily: true, timeout: PROBE_TIMEOUT_MS });
      const finish = (isReachable: boolean) => {
        socket.destroy();
        resolve(isReachable);
      };
      socket.on('connect', () => {
        this.#noteReachable();
        finish(true);
      });
      socket.on('timeout', () => finish(false));
      socket.on('error', (cause) => {
        this.#noteUnreachable(toUpstreamFailure(cause, 'connect'));
        finish(false);
      });
    });
  }

  #noteReachable(): void {
    if (this.#reachability.kind === 'reachable') return;
    this.#reachability = { kind: 'reachable', sinceEpochMs: this.#clock.epochMs() };
  }

  #noteUnreachable(failure: UpstreamFailure): void {
    const previous = this.#reachability;
    const sinceEpochMs = previous.kind === 'unreachable' ? previous.sinceEpochMs : this.#clock.epochMs();
    this.#reachability = { kind: 'unreachable', sinceEpochMs, failure };
  }
}
