import { beforeEach, expect, it } from 'vitest';
import { NS_PER_US } from '../../../src/base/clock.ts';
import { LoopShare } from '../../../src/monitor/loop-share.ts';
import { ManualClock } from '../../support/clock.ts';

const STEP_NS = 10 * NS_PER_US;

/** Turns of a loop that turns when it is told to, with time that passes only with work. */
class Loop {
  readonly clock = new ManualClock();
  readonly share = new LoopShare(this.clock, (run) => this.#due.push(run));
  #due: (() => void)[] = [];

  /** Runs what is due in the next turn; how long that took. */
  turn(): number {
    const beganNs = this.clock.ns;
    const due = this.#due;
    this.#due = [];
    for (const run of due) run();
    return this.clock.ns - beganNs;
  }

  get isIdle(): boolean {
    return this.#due.length === 0;
  }

  /** Work of so many steps; the name is noted with each. */
  enter(steps: number, name = '', notes: string[] = []): void {
    let left = steps;
    const work = (): void => {
      do {
        if (left === 0) return;
        left -= 1;
        notes.push(name);
        this.clock.ns += STEP_NS;
      } while (!this.share.isDue);
      this.share.enter(work);
    };
    this.share.enter(work);
  }
}

let loop: Loop;
beforeEach(() => {
  loop = new Loop();
});

it('LoopShare gives work a tenth of a millisecond of each turn until it is done', () => {
  loop.enter(25);
  expect([loop.turn(), loop.turn(), loop.turn()]).toEqual([10 * STEP_NS, 10 * STEP_NS, 5 * STEP_NS]);
});

it('LoopShare gives work as much time as everything else took in the turn, at most a millisecond', () => {
  loop.enter(400);
  const turns = [5, 10, 20, 100, 1_000, 10].map((othersSteps) => {
    loop.clock.ns += othersSteps * STEP_NS;
    return loop.turn() / STEP_NS;
  });
  expect(turns).toEqual([10, 10, 20, 100, 100, 10]);
});

it('LoopShare shares one turn among all work, in order', () => {
  const notes: string[] = [];
  for (const name of ['a', 'b', 'c']) loop.enter(20, name, notes);
  for (let turn = 0; turn < 6; turn += 1) expect(loop.turn()).toBe(10 * STEP_NS);
  expect(notes.join('')).toBe(['a', 'b', 'c', 'a', 'b', 'c'].map((name) => name.repeat(10)).join(''));
});

it('LoopShare calls work once that entered twice, and not at all after it left', () => {
  let calls = 0;
  const work = (): void => {
    calls += 1;
  };
  loop.share.enter(work);
  loop.share.enter(work);
  loop.turn();
  expect(calls).toBe(1);
  loop.share.enter(work);
  loop.share.leave(work);
  loop.turn();
  expect(calls).toBe(1);
  expect(loop.isIdle).toBe(true);
});
