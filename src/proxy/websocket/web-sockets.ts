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
import type { Clock } from '../../base/clock.ts';
import { counter, gauge, type MetricDescription } from '../../base/metric-description.ts';
import type { TrafficServices, WebSocketRequest } from '../upstream/traffic-services.ts';
import { Handshake, type HandshakeListener } from './handshake.ts';
import { OpenTunnels } from './open-tunnels.ts';
import { createProxy } from './proxy.ts';

/** Interval at which writes below the high-water mark are looked at: no event reports them. */
const CHECK_MS = 250;

export class WebSockets implements HandshakeListener {
  readonly #services: TrafficServices;
  readonly #proxy = createProxy();
  readonly #handshakes = new Set<Handshake>();
  readonly #tunnels: OpenTunnels;
  #timer: NodeJS.Timeout | undefined;
  #isDestroyed = false;

  constructor(services: TrafficServices, clock: Clock) {
    this.#services = services;
    this.#tunnels = new OpenTunnels(services, clock);
  }

  /** Client connections in a handshake or a tunnel. */
  get connections(): number {
    return this.#handshakes.size + this.#tunnels.size;
  }

  /** Open WebSockets. */
  get open(): number {
    return this.#tunnels.size;
  }

  /** WebSockets that `closeTunnels` ended, by outcome. */
  get closed(): OpenTunnels['closed'] {
    return this.#tunnels.closed;
  }

  /** Takes over a client's socket without listeners. */
  take(request: WebSocketRequest): void {
    if (this.#isDestroyed) {
      request.socket.destroy();
      request.upstream?.socket.destroy();
      return;
    }
    const handshake = new Handshake(request, this.#services, this);
    this.#handshakes.add(handshake);
    this.#timer ??= setInterval(() => this.#check(), CHECK_MS).unref();
    handshake.begin(request, this.#proxy);
  }

  onTunnel(handshake: Handshake, client: Socket, upstream: Socket): void {
    this.#handshakes.delete(handshake);
    this.#tunnels.add(client, upstream);
  }

  onClosed(handshake: Handshake): void {
    this.#handshakes.delete(handshake);
  }

  /** Closes the WebSockets with code 1001, spread over `overMs`; a second call replaces the first. */
  closeTunnels(overMs: number): void {
    this.#tunnels.close(overMs);
  }

  destroy(): void {
    this.#isDestroyed = true;
    clearInterval(this.#timer);
    for (const handshake of this.#handshakes) handshake.destroy();
    this.#tunnels.destroy();
  }

  #check(): void {
    if (this.connections === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    for (const handshake of this.#handshakes) handshake.checkStalled();
    this.#tunnels.checkStalled();
  }
}

export const WEB_SOCKET_METRICS: readonly MetricDescription<WebSockets>[] = [
  gauge('d2_sidecar_upgraded_connections', 'Client connections that are WebSockets now.', ({ open }) => open),
  counter(
    'd2_sidecar_websockets_let_go_total',
    'WebSockets ended by a stop: closed with 1001 and answered, or cut.',
    ({ closed }) => closed,
    'ending',
  ),
];
