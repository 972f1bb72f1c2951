import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, expect, it } from 'vitest';
import { ClientTurn, HeavyWork } from '../../../src/limits/heavy-work.ts';
import { ManualClock } from '../../support/clock.ts';

let clock: ManualClock;
let work: HeavyWork;
let done: string[];

beforeEach(() => {
  clock = new ManualClock();
  work = new HeavyWork(clock);
  done = [];
});

/** Work of `tookMs` that waits. */
function wait(client: string, name: string, tookMs: number): void {
  work.wait(client, 0, () => {
    done.push(name);
    clock.advanceMs(tookMs);
  });
}

/** What was done in each turn until nothing waited. */
async function turnsOf(count: number): Promise<string[]> {
  const turns: string[] = [];
  for (let i = 0; i < count; i += 1) {
    done = [];
    await turn();
    turns.push(done.join(' '));
  }
  return turns;
}

it('in one turn of the event loop, work may run for 4 ms, without the time before the first work', async () => {
  expect(work.mayRun).toBe(true);
  clock.advanceMs(3.9);
  expect(work.mayRun).toBe(true);
  clock.advanceMs(0.2);
  expect(work.mayRun).toBe(false);
  await turn();
  clock.advanceMs(1_000);
  expect(work.mayRun).toBe(true);
});

it('in one turn of the event loop, waiting work runs for 4 ms, and at least one piece', async () => {
  for (let i = 0; i < 5; i += 1) wait('a', `${i}`, 2);
  wait('a', 'long', 100);
  wait('a', 'last', 1);
  expect(await turnsOf(4)).toEqual(['0 1', '2 3', '4 long', 'last']);
});

it('nothing overtakes work that waits', async () => {
  wait('a', 'first', 4);
  wait('a', 'second', 0);
  expect(work.mayRun).toBe(false);
  await turn();
  expect(work.mayRun).toBe(false);
  await turn();
  await turn();
  expect(work.mayRun).toBe(true);
});

it('clients take turns, however much one of them has waiting', async () => {
  for (let i = 0; i < 6; i += 1) wait('loud', `loud${i}`, 2);
  wait('quiet', 'quiet0', 2);
  wait('quiet', 'quiet1', 2);
  expect(await turnsOf(4)).toEqual(['loud0 quiet0', 'loud1 quiet1', 'loud2 loud3', 'loud4 loud5']);
});

const LARGE = 60_000;

/** Connections after one whose work has used up the time of this turn. */
function setUp() {
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
