import { type Clock, NS_PER_S } from '../../../src/base/clock.ts';

/** A clock that stands still until it is told to go on, in nanoseconds. */
export class NsClock implements Clock {
  ns = 0;

  nowNs(): number {
    return this.ns;
  }

  epochMs(): number {
    return 0;
  }

  advanceS(seconds: number): void {
    this.ns += seconds * NS_PER_S;
  }
}
