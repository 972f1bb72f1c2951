import type { Clock } from '../../base/clock.ts';

/** As seen from us: to the upstream, or back to the client. */
export type Direction = 'request' | 'response';

/**
 * One in so many is measured, beginning with the first. A prime, since up to 64 texts are written at the end of a turn: a power of
 * two would meet the same place among them again and again, the first of which waits longest.
 */
const MEASURED_OF = 17;

/**
 * How long what passes in one direction is kept: from a moment that is known anyway to the one at which it has been written on.
 * Who passes it on asks `sample`, keeps what it gives beside the bytes, and hands it to `written`. So the clock is read for one in 17.
 */
export class AddedTime {
  readonly #clock: Clock;
  readonly #onMeasured: (addedNs: number) => void;
  #untilMeasured = 1;

  /** `onMeasured` must not throw. */
  constructor(clock: Clock, onMeasured: (addedNs: number) => void) {
    this.#clock = clock;
    this.#onMeasured = onMeasured;
  }

  /** `sinceNs`, a moment of `Clock.nowNs`, if this one is to be measured; else 0. */
  sample(sinceNs: number): number {
    this.#untilMeasured -= 1;
    if (this.#untilMeasured > 0) return 0;
    this.#untilMeasured = MEASURED_OF;
    return sinceNs;
  }

  /** To be called right after the write, with what `sample` gave: nothing is done for 0. */
  written(sinceNs: number): void {
    if (sinceNs > 0) this.#onMeasured(this.#clock.nowNs() - sinceNs);
  }
}
