import { type Clock, NS_PER_S } from '../../base/clock.ts';

/** Frames of one direction of one WebSocket in the current second. */
export class DirectionRate {
  sinceNs = Number.NEGATIVE_INFINITY;
  frames = 0;
}

/** Each frame costs time: past the total per second, the directions with by far the most are no longer followed. */
export class FrameRate {
  readonly #clock: Clock;
  readonly #limits: { readonly all: number; readonly ofOne: number };
  readonly #all = new DirectionRate();

  /** Frames per second: no direction is limited up to `all` of all WebSockets, and none with up to `ofOne`. */
  constructor(clock: Clock, limits: { readonly all: number; readonly ofOne: number }) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Counts `frames` that came at once in a direction; true if this direction is now too fast. */
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
