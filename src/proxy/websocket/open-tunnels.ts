import type { Socket } from 'node:net';
import { type Clock, NS_PER_MS } from '../../base/clock.ts';
import { FrameRate } from '../../protocol/websocket/frame-rate.ts';
import type { TrafficServices } from '../upstream/traffic-services.ts';
import { OpenTunnel, type TunnelOutcome } from './open-tunnel.ts';

/** Interval between two groups of closed tunnels. The clients of one group reconnect at the same moment. */
const STEP_MS = 50;
/** Frames followed per second: about one percent of the loop. A tunnel that is not followed is cut, not closed. */
const FRAMES = { all: 200_000, ofOne: 10_000 };

/** All open WebSockets. Closes them one after another, so that their clients do not all reconnect at once. */
export class OpenTunnels {
  readonly #services: TrafficServices;
  readonly #clock: Clock;
  readonly #frameRate: FrameRate;
  readonly #open = new Set<OpenTunnel>();
  readonly #staying = new Set<OpenTunnel>();
  readonly #closed: Record<TunnelOutcome, number> = { closed: 0, cut: 0 };
  #windowEndNs = 0;
  #steppedNs = 0;
  /** Number of tunnels that are due to be closed; the fraction is carried over to the next step. */
  #due = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(services: TrafficServices, clock: Clock) {
    this.#services = services;
    this.#clock = clock;
    this.#frameRate = new FrameRate(clock, FRAMES);
  }

  get size(): number {
    return this.#open.size;
  }

  /** Tunnels that `close` ended, by outcome. */
  get closed(): Readonly<Record<TunnelOutcome, number>> {
    return this.#closed;
  }

  /** To be called right after the pipes are set up, in the same turn of the event loop. */
  add(client: Socket, upstream: Socket): void {
    const tunnel = new OpenTunnel(client, upstream, this.#frameRate, this.#services);
    this.#open.add(tunnel);
    this.#staying.add(tunnel);
    client.once('close', () => {
      this.#open.delete(tunnel);
      this.#staying.delete(tunnel);
      tunnel.release();
    });
  }

  /** Charges unsent bytes to the memory budget. */
  checkStalled(): void {
    for (const tunnel of this.#open) tunnel.checkStalled();
  }

  /** Closes all tunnels, including new ones, spread evenly over `overMs`, oldest first. 0: all open ones at once. */
  close(overMs: number): void {
    clearInterval(this.#timer);
    this.#steppedNs = this.#clock.nowNs();
    this.#windowEndNs = this.#steppedNs + overMs * NS_PER_MS;
    this.#due = 0;
    this.#timer = setInterval(() => this.#step(), STEP_MS).unref();
    this.#step();
  }

  destroy(): void {
    clearInterval(this.#timer);
    for (const tunnel of this.#open) tunnel.destroy();
  }

  #step(): void {
    const nowNs = this.#clock.nowNs();
    const leftNs = this.#windowEndNs - this.#steppedNs;
    const isLast = nowNs >= this.#windowEndNs;
    // Closes the same share of tunnels as of the remaining time has passed.
    this.#due += isLast ? this.#staying.size : (this.#staying.size * (nowNs - this.#steppedNs)) / leftNs;
    this.#steppedNs = nowNs;
    for (const tunnel of this.#staying) {
      if (this.#due < 1 && !isLast) break;
      this.#due -= 1;
      this.#staying.delete(tunnel);
      tunnel.goAway((outcome) => {
        this.#closed[outcome] += 1;
      });
    }
    if (isLast) clearInterval(this.#timer);
  }
}
