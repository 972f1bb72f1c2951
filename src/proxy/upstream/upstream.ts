/** This folder connects to the application server. It knows addresses, limits, reachability; it must not know HTTP. */

import net from 'node:net';
import { type Clock, NS_PER_S } from '../../base/clock.ts';
import { gauge, type MetricDescription } from '../../base/metric-description.ts';
import type { HostPort } from '../../config/config.ts';
import { reasonOf, toUpstreamFailure, UpstreamFailure } from '../exchange/upstream-failure.ts';
import { isDoubtfulEnd } from './doubtful-end.ts';
import { PhaseTimer } from './phase-timer.ts';
import { ReadBuffer, ReadBuffers } from './read-buffer.ts';
import { SharedLookup } from './shared-lookup.ts';
import type { UpstreamTls } from './upstream-tls.ts';

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

/** Whether the upstream accepted the last connection attempt, and since when this has been so. */
export type Reachability =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'reachable'; readonly sinceEpochMs: number }
  | {
      readonly kind: 'unreachable';
      readonly sinceEpochMs: number;
      readonly failure: UpstreamFailure;
      /** A code of the system, or of the sidecar if there is none, e.g. `ECONNREFUSED`. */
      readonly reason: string;
    };

export interface UpstreamOptions extends HostPort {
  readonly connectTimeoutMs: number;
}

const PROBE_INTERVAL_NS = NS_PER_S;
const PROBE_TIMEOUT_MS = 1_000;

export class Upstream {
  readonly #address: HostPort;
  readonly #clock: Clock;
  readonly #tls: UpstreamTls | undefined;
  readonly #buffers = new ReadBuffers();
  readonly #lookup = new SharedLookup().lookup;
  #connectTimeoutMs: number;
  #reachability: Reachability = { kind: 'unknown' };
  #lastProbe: { readonly atNs: number; readonly isReachable: Promise<boolean> } | undefined;

  /** Without `tls` connections are plain TCP. */
  constructor(options: UpstreamOptions, clock: Clock, tls?: UpstreamTls) {
    this.#address = options;
    this.#connectTimeoutMs = options.connectTimeoutMs;
    this.#clock = clock;
    this.#tls = tls;
  }

  reconfigure({ connectTimeoutMs }: { readonly connectTimeoutMs: number }): void {
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  get reachability(): Reachability {
    return this.#reachability;
  }

  /** Opens a connection. Earlier writes wait in the socket until it is connected. */
  connect(listener: UpstreamListener): net.Socket {
    let phase: 'connect' | 'handshake' | 'wait' = 'connect';
    let failure: UpstreamFailure | undefined;
    let isClosed = false;
    const tls = this.#tls;
    const socket = tls === undefined ? this.#dial(listener) : dialSecure(tls.connect(this.#lookup), listener);
    const giveUp = () => socket.destroy(new UpstreamFailure('D2S_ERR_UPSTREAM_CONNECT_TIMEOUT'));
    const timer = new PhaseTimer();
    timer.start(this.#connectTimeoutMs, giveUp);
    const onClosed = () => {
      timer.stop();
      if (isClosed) return;
      isClosed = true;
      listener.onUpstreamClosed(socket, failure);
    };
    const onReady = () => {
      phase = 'wait';
      timer.stop();
      this.noteReachable();
    };
    if (tls === undefined) socket.on('connect', onReady);
    else {
      socket.on('connect', () => {
        phase = 'handshake';
      });
      socket.on('secureConnect', onReady);
    }
    socket.on('drain', () => listener.onUpstreamDrain(socket));
    socket.on('error', (cause) => {
      failure = toUpstreamFailure(cause, phase);
      if (phase !== 'wait') this.noteUnreachable(failure);
    });
    socket.prependListener('end', () => {
      // During the handshake an 'error' follows.
      if (phase !== 'wait') return;
      const onKnown = (cause: Error | undefined) => {
        failure = cause && toUpstreamFailure(cause, phase);
        onClosed();
      };
      if (tls !== undefined || !isDoubtfulEnd(socket, onKnown)) onClosed();
    });
    socket.on('close', onClosed);
    return socket;
  }

  /** Whether the upstream accepts a connection now. Checks at most once a second. */
  probe(): Promise<boolean> {
    const nowNs = this.#clock.nowNs();
    if (this.#lastProbe === undefined || nowNs - this.#lastProbe.atNs > PROBE_INTERVAL_NS) {
      this.#lastProbe = { atNs: nowNs, isReachable: this.#probeNow() };
    }
    return this.#lastProbe.isReachable;
  }

  #dial(listener: UpstreamListener): net.Socket {
    const { host, port } = this.#address;
    const buffer = new ReadBuffer(this.#buffers);
    const socket: net.Socket = net.connect({
      host,
      port,
      noDelay: true,
      keepAlive: true,
      autoSelectFamily: true,
      lookup: this.#lookup,
      // Reading into our own buffers saves a stream chunk per read.
      onread: {
        buffer: buffer.next,
        callback: (length, bytes) => {
          const canGoOn = listener.onUpstreamBytes(socket, bytes as Buffer, length, buffer);
          buffer.onRead(length);
          // The listener resumes a socket that it has stopped.
          return canGoOn && buffer.hasTurn(length, socket);
        },
      },
    });
    return socket;
  }

  #probeNow(): Promise<boolean> {
    return new Promise((resolve) => {
      const { host, port } = this.#address;
      const tls = this.#tls;
      const lookup = this.#lookup;
      const socket =
        tls === undefined ? net.connect({ host, port, autoSelectFamily: true, lookup }) : tls.connect(lookup);
      socket.setTimeout(PROBE_TIMEOUT_MS);
      let phase: 'connect' | 'handshake' = 'connect';
      const finish = (isReachable: boolean) => {
        socket.destroy();
        resolve(isReachable);
      };
      socket.on('connect', () => {
        phase = 'handshake';
      });
      socket.on(tls === undefined ? 'connect' : 'secureConnect', () => {
        this.noteReachable();
        finish(true);
      });
      socket.on('timeout', () => finish(false));
      socket.on('error', (cause) => {
        this.noteUnreachable(toUpstreamFailure(cause, phase));
        finish(false);
      });
    });
  }

  /** A connection is established. Code that connects without this class reports it here. */
  noteReachable(): void {
    if (this.#reachability.kind === 'reachable') return;
    this.#reachability = { kind: 'reachable', sinceEpochMs: this.#clock.epochMs() };
  }

  noteUnreachable(failure: UpstreamFailure): void {
    if (failure.isOwnShortage) return;
    const previous = this.#reachability;
    const sinceEpochMs = previous.kind === 'unreachable' ? previous.sinceEpochMs : this.#clock.epochMs();
    const reason = reasonOf(failure) ?? failure.code;
    this.#reachability = { kind: 'unreachable', sinceEpochMs, failure, reason };
  }
}

/** A TLS stream emits chunks with their own memory, and keeps decrypted bytes while it is paused. */
function dialSecure(socket: net.Socket, listener: UpstreamListener): net.Socket {
  socket.on('data', (bytes: Buffer) => {
    if (!listener.onUpstreamBytes(socket, bytes, bytes.length, undefined)) socket.pause();
  });
  return socket;
}

export const UPSTREAM_METRICS: readonly MetricDescription<Pick<Upstream, 'reachability'>>[] = [
  gauge(
    'd2_upstream_reachable',
    'Whether the last connection attempt succeeded; absent before the first.',
    ({ reachability: { kind } }) => (kind === 'unknown' ? undefined : Number(kind === 'reachable')),
  ),
];
