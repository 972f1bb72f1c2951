/** This folder connects to the application server: addresses, time limits and reachability. It must not know HTTP. */

import { type Clock, formatIso, NS_PER_S, PhaseTimer } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { gauge, type MetricDescription } from '../../base/metric-description.ts';
import type { HostPort } from '../../config/config.ts';
import { HeavyWork } from '../../limits/heavy-work.ts';
import { classifyUpstreamFailure, reasonOf, tlsReasonOf, type UpstreamFailure } from '../exchange/upstream-failure.ts';
import { ReadBuffers } from './read-buffer.ts';
import { SharedLookup } from './shared-lookup.ts';
import { type ConnectionParts, UpstreamConnection, type UpstreamListener } from './upstream-connection.ts';
import { speaksTls, type UpstreamTls } from './upstream-tls.ts';

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

const PROBE_INTERVAL_NS = NS_PER_S;
const PROBE_TIMEOUT_MS = 1_000;
/** How long a server may take to refuse our certificate after the handshake of TLS 1.3. */
const SILENCE_MS = 500;
const BROKEN_OFF = { code: 'ECONNRESET' };

export class Upstream {
  readonly #clock: Clock;
  readonly #outages: OutageRecord | undefined;
  readonly #parts: ConnectionParts;
  /** A reload may change it. */
  connectTimeoutMs: number;
  reachability: Reachability = { kind: 'unknown' };
  #shortage: Obstacle | undefined;
  #missingTls: Obstacle | undefined;
  #lastProbe: { readonly atNs: number; readonly isReachable: Promise<boolean> } | undefined;

  constructor(
    options: HostPort & { readonly connectTimeoutMs: number },
    clock: Clock,
    { tls, outages }: { readonly tls?: UpstreamTls | undefined; readonly outages?: OutageRecord | undefined } = {},
  ) {
    this.#outages = outages;
    this.connectTimeoutMs = options.connectTimeoutMs;
    this.#clock = clock;
    const buffers = new ReadBuffers(new HeavyWork(clock));
    this.#parts = { address: options, names: new SharedLookup(clock), tls, buffers };
  }

  /** For the verdict: `reachability`, or what is wrong beside it. */
  get condition(): Reachability | Obstacle {
    const isLost = this.reachability.kind === 'unreachable';
    return this.#shortage ?? (isLost ? undefined : this.#missingTls) ?? this.reachability;
  }

  /** Opens a connection. Earlier writes wait in its socket until it is connected. Without `listener`: a stream. */
  connect(listener?: UpstreamListener): UpstreamConnection {
    return new UpstreamConnection(listener, this.#parts, this.connectTimeoutMs, this);
  }

  /** Whether the upstream accepts a connection now. Checks at most once a second. */
  probe(): Promise<boolean> {
    const nowNs = this.#clock.nowNs();
    if (this.#lastProbe === undefined || nowNs - this.#lastProbe.atNs > PROBE_INTERVAL_NS) {
      this.#lastProbe = { atNs: nowNs, isReachable: this.#dial(PROBE_TIMEOUT_MS, false) };
    }
    return this.#lastProbe.isReachable;
  }

  /** Opens and closes a connection within `upstream.connectTimeout`, TLS included; what happens changes `reachability`. */
  tryConnection(): Promise<boolean> {
    return this.#dial(this.connectTimeoutMs, true);
  }

  /** Without TLS in the configuration: finds out whether the port expects it, after answers that make it likely. */
  async tryTls(): Promise<void> {
    const { address, names, tls } = this.#parts;
    if (tls !== undefined || this.reachability.kind === 'unreachable') return;
    const limitMs = this.connectTimeoutMs;
    const isTls = await speaksTls(address, limitMs, names.dialOptions(limitMs));
    const sinceEpochMs = this.#missingTls?.sinceEpochMs ?? this.#clock.epochMs();
    this.#missingTls = isTls ? { kind: 'unreachable', sinceEpochMs, reason: 'TLS_EXPECTED', isTls } : undefined;
  }

  /** An answer came that no server gives which expects TLS. */
  noteAnswer(): void {
    this.#missingTls = undefined;
  }

  /** `isTimeoutKnown`: the time limit is that of requests, so that exceeding it counts. */
  #dial(limitMs: number, isTimeoutKnown: boolean): Promise<boolean> {
    return new Promise((resolve) => {
      const silence = new PhaseTimer();
      const finish = (isReachable: boolean) => {
        silence.stop();
        connection.leave();
        connection.socket.destroy();
        resolve(isReachable);
      };
      const noteReachable = () => {
        this.noteReachable();
        finish(true);
      };
      const noteUnreachable = (failure: UpstreamFailure) => {
        const isOwnLimit = failure.code === 'D2S_ERR_UPSTREAM_CONNECT_TIMEOUT' && failure.cause === undefined;
        if (isTimeoutKnown || !isOwnLimit) this.noteUnreachable(failure);
        finish(false);
      };
      const listener: UpstreamListener = {
        onUpstreamBytes: () => true,
        onUpstreamDrain: () => undefined,
        onUpstreamClosed: () => noteUnreachable(classifyUpstreamFailure(BROKEN_OFF, 'handshake')),
      };
      const connection = new UpstreamConnection(listener, this.#parts, limitMs, { noteReachable, noteUnreachable });
      connection.socket.on('secureConnect', () => {
        // A server without session tickets that accepts us says nothing.
        if (!connection.socket.destroyed) silence.start(Math.min(limitMs, SILENCE_MS), noteReachable);
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

/** A server that is lost and back many times a second must not flood the log. */
const LOG_INTERVAL_NS = NS_PER_S;

/** Logs the end of each outage of the server, with its length and the requests that failed meanwhile. */
export class OutageRecord {
  readonly #parts: { readonly readFailed: () => number; readonly clock: Clock; readonly logger: Logger };
  #outage: { readonly sinceNs: number; readonly sinceEpochMs: number; readonly failedBefore: number } | undefined;
  #loggedNs = Number.NEGATIVE_INFINITY;
  /** Outages that ended since the last line without one of their own. */
  #unlogged = 0;

  /** `readFailed`: the number of all failed requests since the start. */
  constructor(readFailed: () => number, clock: Clock, logger: Logger) {
    this.#parts = { readFailed, clock, logger };
  }

  /** Call it when a connection failed, before the request that wanted it is counted as failed. */
  lost(): void {
    const { clock, readFailed } = this.#parts;
    this.#outage ??= { sinceNs: clock.nowNs(), sinceEpochMs: clock.epochMs(), failedBefore: readFailed() };
  }

  back(): void {
    const outage = this.#outage;
    if (outage === undefined) return;
    this.#outage = undefined;
    const nowNs = this.#parts.clock.nowNs();
    if (nowNs - this.#loggedNs < LOG_INTERVAL_NS) {
      this.#unlogged += 1;
      return;
    }
    this.#loggedNs = nowNs;
    const seconds = Math.round((nowNs - outage.sinceNs) / (NS_PER_S / 10)) / 10;
    const members = {
      since: formatIso(outage.sinceEpochMs),
      seconds,
      failed: this.#parts.readFailed() - outage.failedBefore,
      ...(this.#unlogged === 0 ? {} : { furtherOutages: this.#unlogged }),
    };
    this.#unlogged = 0;
    this.#parts.logger.info(members, 'the upstream can be reached again');
  }
}
