import type { Clock } from '../../base/clock.ts';

/** `request` runs to the upstream, `response` back to the client. */
export type Direction = 'request' | 'response';

/**
 * One in this many is measured, beginning with the first. A prime, since up to 64 texts are written together at the end
 * of a turn of the event loop, and the first of them waits longest: a power of two would always sample the same
 * positions.
 */
const MEASURED_OF = 17;

/**
 * Measures how long the sidecar keeps bytes of one direction: from a moment that is known anyway until they are
 * written. The caller calls `sample`, keeps the result with the bytes, and passes it to `written`. So only one in 17
 * reads the clock.
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

  /** Returns `sinceNs`, a moment of `Clock.nowNs`, if this one is to be measured; otherwise 0. */
  sample(sinceNs: number): number {
    this.#untilMeasured -= 1;
    if (this.#untilMeasured > 0) return 0;
    this.#untilMeasured = MEASURED_OF;
    return sinceNs;
  }

  /** Call right after the write, with the result of `sample`; 0 does nothing. */
  written(sinceNs: number): void {
    if (sinceNs > 0) this.#onMeasured(this.#clock.nowNs() - sinceNs);
  }
}
