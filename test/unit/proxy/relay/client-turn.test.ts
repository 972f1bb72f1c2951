import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { HeavyWork } from '../../../../src/limits/heavy-work.ts';
import { ClientTurn } from '../../../../src/proxy/relay/client-turn.ts';
import { ManualClock } from '../../../support/clock.ts';

const LARGE = 60_000;

/** Connections after one whose work has used up the time of this turn. */
function setUp() {
  const clock = new ManualClock();
  const work = new HeavyWork(clock);
  expect(work.mayRun).toBe(true);
  clock.advanceMs(10);
  const turns: string[] = [];
  const open = (name: string, address = name) => new ClientTurn(work, address, () => void turns.push(name));
  return { open, turns };
}

it('a connection waits with a large head, and with a small one of a dear request', async () => {
  const { open, turns } = setUp();
  const [large, small, dear] = [open('large'), open('small'), open('dear')];
  expect(large.mustWait(LARGE)).toBe(true);
  expect(small.mustWait(500)).toBe(false);
  expect(dear.mustWait(500, true)).toBe(true);
  expect([large.isWaiting, small.isWaiting, dear.isWaiting]).toEqual([true, false, true]);
  await turn();
  expect(turns).toEqual(['large', 'dear']);
});

it('a connection that is over, or has another owner, gets no turn', async () => {
  const { open, turns } = setUp();
  const [left, stays] = [open('left'), open('stays')];
  expect([left.mustWait(LARGE), stays.mustWait(LARGE)]).toEqual([true, true]);
  left.end();
  await turn();
  expect(turns).toEqual(['stays']);
  expect(left.endRead(left.beginRead(Buffer.alloc(LARGE)))).toBe(false);
});

it('the addresses of one IPv6 host share their turns', async () => {
  const { open, turns } = setUp();
  for (let host = 1; host <= 3; host += 1) expect(open(`::${host}`, `2001:db8::${host}`).mustWait(LARGE)).toBe(true);
  expect(open('other', '10.0.0.1').mustWait(LARGE)).toBe(true);
  await turn();
  expect(turns).toEqual(['::1', 'other', '::2', '::3']);
});
