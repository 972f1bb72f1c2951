/** This folder connects to the application server: addresses, time limits and reachability. It must not know HTTP. */

import net from 'node:net';
import { TLSSocket } from 'node:tls';
import { type Clock, NS_PER_MS, NS_PER_S } from '../../base/clock.ts';
import { gauge, type MetricDescription } from '../../base/metric-description.ts';
import type { HostPort } from '../../config/config.ts';
import { HeavyWork } from '../../limits/heavy-work.ts';
import { classifyUpstreamFailure, reasonOf, tlsReasonOf, UpstreamFailure } from '../exchange/upstream-failure.ts';
import type { OutageRecord } from './outage-record.ts';
import { PhaseTimer } from './phase-timer.ts';
import { ReadBuffers } from './read-buffer.ts';
import { SharedLookup } from './shared-lookup.ts';
import { UpstreamConnection, type UpstreamListener } from './upstream-connection.ts';
import { onAccepted, speaksTls, type UpstreamTls } from './upstream-tls.ts';

/** Whether the upstream accepted the last connection attempt, and since when. */
export type Reachability =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'reachable'; readonly sinceEpochMs: number }
  | {
      readonly kind: 'unreachable';
      readonly sinceEpochMs: number;
      readonly failure: UpstreamFailure;
      /** A code of the system, or of the sidecar if there is none, e.g. `ECONNREFUSED`. */
      readonly reason: string;
      /** Connections open, but TLS fails. */
      readonly isTls: boolean;
    };

/** What is wrong although the last attempt may have succeeded: a lack of descriptors, ports or memory here, or of TLS. */
type Obstacle = Omit<Extract<Reachability, { kind: 'unreachable' }>, 'failure'>;

export interface UpstreamOptions extends HostPort {
  readonly connectTimeoutMs: number;
}

interface UpstreamParts {
  readonly tls?: UpstreamTls | undefined;
  readonly outages?: OutageRecord | undefined;
}

const PROBE_INTERVAL_NS = NS_PER_S;
const PROBE_TIMEOUT_MS = 1_000;
/** How long a server may take to refuse our certificate after the handshake of TLS 1.3. */
const SILENCE_MS = 500;
const BROKEN_OFF = { code: 'ECONNRESET' };

export class Upstream {
  readonly #address: HostPort;
  readonly #clock: Clock;
  readonly #tls: UpstreamTls | undefined;
  readonly #outages: OutageRecord | undefined;
  readonly #buffers: ReadBuffers;
  readonly #names: SharedLookup;
  #connectTimeoutMs: number;
  reachability: Reachability = { kind: 'unknown' };
  #shortage: Obstacle | undefined;
  #missingTls: Obstacle | undefined;
  #lastProbe: { readonly atNs: number; readonly isReachable: Promise<boolean> } | undefined;

  constructor(options: UpstreamOptions, clock: Clock, { tls, outages }: UpstreamParts = {}) {
    this.#outages = outages;
    this.#address = options;
    this.#connectTimeoutMs = options.connectTimeoutMs;
    this.#clock = clock;
    this.#buffers = new ReadBuffers(new HeavyWork(clock));
    this.#names = new SharedLookup(clock);
    this.#tls = tls;
  }

  reconfigure({ connectTimeoutMs }: { readonly connectTimeoutMs: number }): void {
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  /** For the verdict: `reachability`, or what is wrong beside it. */
  get condition(): Reachability | Obstacle {
    const isLost = this.reachability.kind === 'unreachable';
    return this.#shortage ?? (isLost ? undefined : this.#missingTls) ?? this.reachability;
  }

  /** Opens a connection. Earlier writes wait in its socket until it is connected. Without `listener`: a stream. */
  connect(listener?: UpstreamListener): UpstreamConnection {
    const options = { connectTimeoutMs: this.#connectTimeoutMs, buffers: this.#buffers, reachability: this };
    return new UpstreamConnection(this.#address, listener, options, this.#names, this.#tls);
  }

  /** Whether the upstream accepts a connection now. Checks at most once a second. */
  probe(): Promise<boolean> {
    const nowNs = this.#clock.nowNs();
    if (this.#lastProbe === undefined || nowNs - this.#lastProbe.atNs > PROBE_INTERVAL_NS) {
      this.#lastProbe = { atNs: nowNs, isReachable: this.#dial(PROBE_TIMEOUT_MS) };
    }
    return this.#lastProbe.isReachable;
  }

  /** Opens and closes a connection within `upstream.connectTimeout`, TLS included; what happens changes `reachability`. */
  async tryConnection(): Promise<boolean> {
    const beganNs = this.#clock.nowNs();
    const limitMs = this.#connectTimeoutMs;
    const isReachable = await this.#dial(limitMs);
    const isTimeout = !isReachable && this.#clock.nowNs() - beganNs >= limitMs * NS_PER_MS;
    if (isTimeout) this.noteUnreachable(new UpstreamFailure('D2S_ERR_UPSTREAM_CONNECT_TIMEOUT'));
    return isReachable;
  }

  /** Without TLS in the configuration: finds out whether the port expects it, after answers that make it likely. */
  async tryTls(): Promise<void> {
    if (this.#tls !== undefined || this.reachability.kind === 'unreachable') return;
    const limitMs = this.#connectTimeoutMs;
    const isTls = await speaksTls(this.#address, limitMs, this.#names.dialOptions(limitMs));
    const sinceEpochMs = this.#missingTls?.sinceEpochMs ?? this.#clock.epochMs();
    this.#missingTls = isTls ? { kind: 'unreachable', sinceEpochMs, reason: 'TLS_EXPECTED', isTls } : undefined;
  }

  /** An answer came that no server gives which expects TLS. */
  noteAnswer(): void {
    this.#missingTls = undefined;
  }

  #dial(limitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const { host, port } = this.#address;
      const dialOptions = this.#names.dialOptions(limitMs);
      const socket = this.#tls?.connect(dialOptions) ?? net.connect({ host, port, ...dialOptions });
      this.#names.watch(socket);
      let phase: 'connect' | 'handshake' = 'connect';
      const timer = new PhaseTimer();
      timer.start(limitMs, () => finish(false));
      const finish = (isReachable: boolean) => {
        timer.stop();
        socket.destroy();
        resolve(isReachable);
      };
      const succeed = () => {
        this.noteReachable();
        finish(true);
      };
      const fail = (cause: unknown) => {
        this.noteUnreachable(classifyUpstreamFailure(cause, phase));
        finish(false);
      };
      socket.on('error', fail);
      if (!(socket instanceof TLSSocket)) {
        socket.on('connect', succeed);
        return;
      }
      socket.on('connect', () => {
        phase = 'handshake';
      });
      onAccepted(socket, succeed);
      socket.on('secureConnect', () => {
        if (socket.destroyed) return;
        timer.stop();
        // A server without session tickets that accepts us says nothing.
        timer.start(Math.min(limitMs, SILENCE_MS), succeed);
        socket.on('end', () => fail(BROKEN_OFF)).resume();
      });
    });
  }

  /** A connection is established. Code that connects without this class reports it here. */
  noteReachable(): void {
    this.#shortage = undefined;
    if (this.reachability.kind === 'reachable') return;
    this.#outages?.back();
    this.reachability = { kind: 'reachable', sinceEpochMs: this.#clock.epochMs() };
  }

  noteUnreachable(failure: UpstreamFailure): void {
    if (failure.isOwnShortage) {
      // The server was not tried. At a limit of ours (`limits.inFlight`) nothing is missing either.
      if (failure.code === 'D2S_ERR_UPSTREAM_RESOURCES') {
        const sinceEpochMs = this.#shortage?.sinceEpochMs ?? this.#clock.epochMs();
        this.#shortage = { kind: 'unreachable', sinceEpochMs, reason: reasonOf(failure) ?? failure.code, isTls: false };
      }
      return;
    }
    this.#shortage = undefined;
    const previous = this.reachability;
    this.#outages?.lost();
    const sinceEpochMs = previous.kind === 'unreachable' ? previous.sinceEpochMs : this.#clock.epochMs();
    const isTls = failure.code === 'D2S_ERR_UPSTREAM_TLS';
    const reason = (isTls ? tlsReasonOf(failure.cause) : reasonOf(failure)) || failure.code;
    this.reachability = { kind: 'unreachable', sinceEpochMs, failure, reason, isTls };
  }
}

export const UPSTREAM_METRICS: readonly MetricDescription<Pick<Upstream, 'reachability'>>[] = [
  gauge(
    'd2_upstream_reachable',
    'Whether the last connection attempt succeeded; absent before the first.',
    ({ reachability: { kind } }) => (kind === 'unknown' ? undefined : Number(kind === 'reachable')),
  ),
];
