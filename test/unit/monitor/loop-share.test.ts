import { expect, it } from 'vitest';
import { NS_PER_US } from '../../../src/base/clock.ts';
import { LoopShare } from '../../../src/monitor/loop-share.ts';
import { ManualClock } from '../../support/clock.ts';

const STEP_NS = 10 * NS_PER_US;

/** Turns of a loop that turns when it is told to, with time that passes only with work. */
function createLoop() {
  const clock = new ManualClock();
  const due: (() => void)[] = [];
  const share = new LoopShare(clock, (run) => due.push(run));
  /** Runs what is due in the next turn; how many steps that took. */
  const turn = (): number => {
    const beganNs = clock.ns;
    for (const run of due.splice(0)) run();
    return (clock.ns - beganNs) / STEP_NS;
  };
  return { clock, share, turn };
}

it('LoopShare gives work as much time as everything else took in the turn, from a tenth of a millisecond to one', () => {
  const { clock, share, turn } = createLoop();
  const work = (): void => {
    do clock.ns += STEP_NS;
    while (!share.isDue);
    share.enter(work);
  };
  share.enter(work);
  const turns = [5, 10, 20, 100, 1_000, 10].map((othersSteps) => {
    clock.ns += othersSteps * STEP_NS;
    return turn();
  });
  expect(turns).toEqual([10, 10, 20, 100, 100, 10]);
});

it('LoopShare calls work once that entered twice, and not at all after it left', () => {
  const { share, turn } = createLoop();
  let calls = 0;
  const work = () => void calls++;
  for (const isLeaving of [false, true]) {
    share.enter(work);
    share.enter(work);
    if (isLeaving) share.leave(work);
    turn();
    expect(calls).toBe(1);
  }
});
