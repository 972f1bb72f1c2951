/**
 * This folder carries WebSockets: the handshake, by http-proxy's `ws`, and the tunnel after it. A WebSocket is the only
 * thing that leaves the relay, which has read the request's head, has had its exchange admitted, and gives both
 * connections along. The folder reports the same exchanges as the relay; it must know neither the relay nor metrics/.
 *
 * Node's client and http-proxy change these things on the way: request fields of one name, and those of the 101, are
 * grouped at the place of the first, in its letter case; several Cookie fields become one; Trailer is removed; the 101
 * gets the standard reason. The chunks of a refusal change their sizes and lose their extensions, and a refusal is the
 * last answer on its connection.
 */
import type { Socket } from 'node:net';
import { type Clock, NS_PER_MS } from '../../base/clock.ts';
import { counter, gauge, type MetricDescription } from '../../base/metric-description.ts';
import { FrameRate } from '../../protocol/websocket/frame-rate.ts';
import type { TrafficServices, WebSocketRequest } from '../upstream/traffic-services.ts';
import { Handshake, type HandshakeListener } from './handshake.ts';
import { OpenTunnel, type TunnelOutcome } from './open-tunnel.ts';
import { createProxy } from './proxy.ts';

/** Interval at which writes below the high-water mark are looked at: no event reports them. */
const CHECK_MS = 250;
/** Interval between two groups of closed tunnels. The clients of one group reconnect at the same moment. */
const STEP_MS = 50;
/** Frames followed per second: about one percent of the loop. A tunnel that is not followed is cut, not closed. */
const FRAMES = { all: 200_000, ofOne: 10_000 };

export class WebSockets implements HandshakeListener {
  readonly #services: TrafficServices;
  readonly #clock: Clock;
  readonly #frameRate: FrameRate;
  readonly #proxy = createProxy();
  readonly #handshakes = new Set<Handshake>();
  readonly #tunnels = new Set<OpenTunnel>();
  /** Tunnels that `closeTunnels` has not closed. */
  readonly #staying = new Set<OpenTunnel>();
  readonly closed: Record<TunnelOutcome, number> = { closed: 0, cut: 0 };
  #windowEndNs = 0;
  #steppedNs = 0;
  /** Number of tunnels that are due to be closed; the fraction is carried over to the next step. */
  #due = 0;
  #stepTimer: NodeJS.Timeout | undefined;
  #checkTimer: NodeJS.Timeout | undefined;
  #isDestroyed = false;

  constructor(services: TrafficServices, clock: Clock) {
    this.#services = services;
    this.#clock = clock;
    this.#frameRate = new FrameRate(clock, FRAMES);
  }

  /** Client connections in a handshake or a tunnel. */
  get connections(): number {
    return this.#handshakes.size + this.#tunnels.size;
  }

  get open(): number {
    return this.#tunnels.size;
  }

  /** Takes over a client's socket without listeners. */
  take(request: WebSocketRequest): void {
    if (this.#isDestroyed) {
      request.socket.destroy();
      request.upstream?.socket.destroy();
      return;
    }
    this.#checkTimer ??= setInterval(() => this.#check(), CHECK_MS).unref();
    this.#handshakes.add(new Handshake(request, this.#services, this.#proxy, this));
  }

  onTunnel(handshake: Handshake, client: Socket, upstream: Socket): void {
    this.#handshakes.delete(handshake);
    const tunnel = new OpenTunnel(client, upstream, this.#frameRate, this.#services);
    this.#tunnels.add(tunnel);
    this.#staying.add(tunnel);
    client.once('close', () => {
      this.#tunnels.delete(tunnel);
      this.#staying.delete(tunnel);
      tunnel.release();
    });
  }

  onClosed(handshake: Handshake): void {
    this.#handshakes.delete(handshake);
  }

  /**
   * Closes all WebSockets with code 1001, including new ones, spread evenly over `overMs`, oldest first, so that their
   * clients do not all reconnect at once. 0: all open ones at once. A second call replaces the first.
   */
  closeTunnels(overMs: number): void {
    clearInterval(this.#stepTimer);
    this.#steppedNs = this.#clock.nowNs();
    this.#windowEndNs = this.#steppedNs + overMs * NS_PER_MS;
    this.#due = 0;
    this.#stepTimer = setInterval(() => this.#closeDue(), STEP_MS).unref();
    this.#closeDue();
  }

  #closeDue(): void {
    const nowNs = this.#clock.nowNs();
    const leftNs = this.#windowEndNs - this.#steppedNs;
    const isLast = nowNs >= this.#windowEndNs;
    // When 10 % of the remaining time has passed, 10 % of the remaining tunnels are closed.
    this.#due += isLast ? this.#staying.size : (this.#staying.size * (nowNs - this.#steppedNs)) / leftNs;
    this.#steppedNs = nowNs;
    for (const tunnel of this.#staying) {
      if (this.#due < 1 && !isLast) break;
      this.#due -= 1;
      this.#staying.delete(tunnel);
      tunnel.goAway((outcome) => {
        this.closed[outcome] += 1;
      });
    }
    if (isLast) clearInterval(this.#stepTimer);
  }

  destroy(): void {
    this.#isDestroyed = true;
    clearInterval(this.#checkTimer);
    clearInterval(this.#stepTimer);
    for (const handshake of this.#handshakes) handshake.destroy();
    for (const tunnel of this.#tunnels) tunnel.destroy();
  }

  #check(): void {
    if (this.connections === 0) {
      clearInterval(this.#checkTimer);
      this.#checkTimer = undefined;
    }
    for (const handshake of this.#handshakes) handshake.checkStalled();
    for (const tunnel of this.#tunnels) tunnel.checkStalled();
  }
}

export const WEB_SOCKET_METRICS: readonly MetricDescription<WebSockets>[] = [
  gauge('d2_sidecar_upgraded_connections', 'Client connections that are WebSockets now.', 'open'),
  counter(
    'd2_sidecar_websockets_let_go_total',
    'WebSockets ended by a stop: closed with 1001 and answered, or cut.',
    'closed',
    'ending',
  ),
];
