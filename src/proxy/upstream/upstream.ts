/**
 * Dialling the application server. Knows addresses, time limits and reachability; knows nothing of HTTP.
 */
import net from 'node:net';
import { type Clock, NS_PER_S } from '../../base/clock.ts';
import type { HostPort } from '../../config/config.ts';
import { reasonOf, toUpstreamFailure, UpstreamFailure } from '../exchange/upstream-failure.ts';
import { isDoubtfulEnd } from './doubtful-end.ts';
import { ReadBuffer, ReadBuffers } from './read-buffer.ts';
import { SharedLookup } from './shared-lookup.ts';
import type { UpstreamTls } from './upstream-tls.ts';

/** What a connection to the upstream tells its owner; after `onUpstreamClosed` nothing more comes. */
export interface UpstreamListener {
  /**
   * `bytes` up to `length` are only valid during the call: the memory is used again for the next read, which is why `buffer`,
   * if there is one, writes them to another socket. Returning false pauses reading until the socket's `resume`.
   */
  onUpstreamBytes(upstream: net.Socket, bytes: Buffer, length: number, buffer: ReadBuffer | undefined): boolean;
  onUpstreamDrain(upstream: net.Socket): void;
  /** The connection has ended: `failure` is undefined when the upstream closed its side in order. */
  onUpstreamClosed(upstream: net.Socket, failure: UpstreamFailure | undefined): void;
}

/** Whether the upstream took the last connection that was tried, and since when it is like that. */
export type Reachability =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'reachable'; readonly sinceEpochMs: number }
  | {
      readonly kind: 'unreachable';
      readonly sinceEpochMs: number;
      readonly failure: UpstreamFailure;
      /** As a code of the system, or of ours where there is none, e.g. `ECONNREFUSED`. */
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

  /** Another time limit from the next connection on. */
  reconfigure({ connectTimeoutMs }: { readonly connectTimeoutMs: number }): void {
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  get reachability(): Reachability {
    return this.#reachability;
  }

  /** Opens a connection. What is written before it stands waits in the socket. */
  connect(listener: UpstreamListener): net.Socket {
    let phase: 'connect' | 'handshake' | 'wait' = 'connect';
    let failure: UpstreamFailure | undefined;
    let isClosed = false;
    const tls = this.#tls;
    const socket = tls === undefined ? this.#dial(listener) : dialSecure(tls.connect(this.#lookup), listener);
    const giveUp = () => {
      if (phase !== 'wait') socket.destroy(new UpstreamFailure('D2S_ERR_UPSTREAM_CONNECT_TIMEOUT'));
    };
    // Behind what has come in time: that this process stood still is not the upstream's silence.
    const timer = setTimeout(() => setImmediate(giveUp), this.#connectTimeoutMs);
    const onClosed = () => {
      clearTimeout(timer);
      if (isClosed) return;
      isClosed = true;
      listener.onUpstreamClosed(socket, failure);
    };
    const onReady = () => {
      phase = 'wait';
      clearTimeout(timer);
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
      // In a handshake it is an error, which is still to come.
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

  /** Whether the upstream takes a connection now; asked at most once a second. */
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
      // Reading into buffers of ours spares a stream chunk for each read.
      onread: {
        buffer: buffer.next,
        callback: (length, bytes) => {
          const canGoOn = listener.onUpstreamBytes(socket, bytes as Buffer, length, buffer);
          buffer.onRead(length);
          // One that cannot go on is resumed by its listener.
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

  /** A connection stands; whoever opens one without this tells of it here. */
  noteReachable(): void {
    if (this.#reachability.kind === 'reachable') return;
    this.#reachability = { kind: 'reachable', sinceEpochMs: this.#clock.epochMs() };
  }

  /** A connection could not be opened, for that reason. */
  noteUnreachable(failure: UpstreamFailure): void {
    // It was not even asked: what is missing is missing here.
    if (failure.status === 503) return;
    const previous = this.#reachability;
    const sinceEpochMs = previous.kind === 'unreachable' ? previous.sinceEpochMs : this.#clock.epochMs();
    const reason = reasonOf(failure) ?? failure.code;
    this.#reachability = { kind: 'unreachable', sinceEpochMs, failure, reason };
  }
}

/** Of TLS a stream gives chunks of their own memory; what has been decrypted already waits in it while reading is paused. */
function dialSecure(socket: net.Socket, listener: UpstreamListener): net.Socket {
  socket.on('data', (bytes: Buffer) => {
    if (!listener.onUpstreamBytes(socket, bytes, bytes.length, undefined)) socket.pause();
  });
  return socket;
}
