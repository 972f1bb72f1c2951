/**
 * This folder connects to the application server. It knows addresses, time limits and reachability; it must not know
 * HTTP.
 */

import net from 'node:net';
import { type Clock, NS_PER_S } from '../../base/clock.ts';
import { gauge, type MetricDescription } from '../../base/metric-description.ts';
import type { HostPort } from '../../config/config.ts';
import { reasonOf, toUpstreamFailure, type UpstreamFailure } from '../exchange/upstream-failure.ts';
import { ReadBuffers } from './read-buffer.ts';
import { SharedLookup } from './shared-lookup.ts';
import { UpstreamConnection, type UpstreamListener } from './upstream-connection.ts';
import type { UpstreamTls } from './upstream-tls.ts';

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
  readonly #names: SharedLookup;
  #connectTimeoutMs: number;
  #reachability: Reachability = { kind: 'unknown' };
  #lastProbe: { readonly atNs: number; readonly isReachable: Promise<boolean> } | undefined;

  /** Without `tls` connections are plain TCP. */
  constructor(options: UpstreamOptions, clock: Clock, tls?: UpstreamTls) {
    this.#address = options;
    this.#connectTimeoutMs = options.connectTimeoutMs;
    this.#clock = clock;
    this.#names = new SharedLookup(clock);
    this.#tls = tls;
  }

  reconfigure({ connectTimeoutMs }: { readonly connectTimeoutMs: number }): void {
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  get reachability(): Reachability {
    return this.#reachability;
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
      this.#lastProbe = { atNs: nowNs, isReachable: this.#probeNow() };
    }
    return this.#lastProbe.isReachable;
  }

  #probeNow(): Promise<boolean> {
    return new Promise((resolve) => {
      const { host, port } = this.#address;
      const tls = this.#tls;
      const dialOptions = this.#names.dialOptions(PROBE_TIMEOUT_MS);
      const socket = tls === undefined ? net.connect({ host, port, ...dialOptions }) : tls.connect(dialOptions);
      this.#names.watch(socket);
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

export const UPSTREAM_METRICS: readonly MetricDescription<Pick<Upstream, 'reachability'>>[] = [
  gauge(
    'd2_upstream_reachable',
    'Whether the last connection attempt succeeded; absent before the first.',
    ({ reachability: { kind } }) => (kind === 'unknown' ? undefined : Number(kind === 'reachable')),
  ),
];
