import { type Clock, NS_PER_S } from '../../base/clock.ts';

/** One direction of one WebSocket, within the second of now. */
export class DirectionRate {
  sinceNs = Number.NEGATIVE_INFINITY;
  frames = 0;
}

export interface FrameRateLimits {
  /** Frames of all WebSockets together in a second; below it, nobody is limited. */
  readonly all: number;
  /** Of one direction; below it, it is never the one that is too fast. */
  readonly ofOne: number;
}

/**
 * How many frames pass in a second. Following frames costs time for each, however small it is, and a flood of tiny ones would take the
 * loop from the traffic. So past a total, directions that send far more than people do are followed no longer.
 */
export class FrameRate {
  readonly #clock: Clock;
  readonly #limits: FrameRateLimits;
  readonly #all = new DirectionRate();

  constructor(clock: Clock, limits: FrameRateLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Counts `frames` that came at once in a direction; true when it is one of those that are too fast now. */
  isTooFast(direction: DirectionRate, frames: number): boolean {
    const nowNs = this.#clock.nowNs();
    const all = add(this.#all, frames, nowNs);
    const own = add(direction, frames, nowNs);
    return all > this.#limits.all && own > this.#limits.ofOne;
  }
}

function add(rate: DirectionRate, frames: number, nowNs: number): number {
  if (nowNs - rate.sinceNs >= NS_PER_S) {
    rate.sinceNs = nowNs;
    rate.frames = 0;
  }
  rate.frames += frames;
  return rate.frames;
}
