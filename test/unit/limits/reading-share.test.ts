import { beforeEach, expect, it } from 'vitest';
import { NS_PER_MS } from '../../../src/base/clock.ts';
import { ReadingShare, type ReadingTask } from '../../../src/limits/reading-share.ts';
import { ManualClock } from '../../support/clock.ts';

const KB = 1_024;

/** A share whose readings take the time that they say, and whose timers run when the test lets them. */
class Bench {
  readonly clock = new ManualClock();
  readonly done: string[] = [];
  readonly failures: unknown[] = [];
  readonly scheduled: { readonly run: () => void; readonly atMs: number }[] = [];
  readonly share = new ReadingShare({
    clock: this.clock,
    onFailure: (cause) => this.failures.push(cause),
    schedule: (run, delayMs) => this.scheduled.push({ run, atMs: this.nowMs + delayMs }),
  });

  get nowMs(): number {
    return this.clock.nowNs() / NS_PER_MS;
  }

  read(address: string, name: string, { steps = 1, stepMs = 0, bytes = KB, fails = false } = {}): void {
    let left = steps;
    const reading: ReadingTask = {
      step: () => {
        this.clock.advanceMs(stepMs);
        if (fails) throw new Error(name);
        left -= 1;
        if (left > 0) return true;
        this.done.push(name);
        return false;
      },
      keep: () => bytes,
      giveUp: () => this.done.push(`${name} given up`),
    };
    this.share.read(() => address, reading, this.clock.nowNs());
  }

  runAll(afterEach?: () => void): void {
    for (let next = this.scheduled.shift(); next !== undefined; next = this.scheduled.shift()) {
      this.clock.advanceMs(Math.max(0, next.atMs - this.nowMs));
      next.run();
      afterEach?.();
    }
  }
}

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
});

it('reading waits where there is none, and takes a fifth of the time at most over any 100 ms', () => {
  const doneAtMs: number[] = [];
  const note = () => {
    while (doneAtMs.length < bench.done.length) doneAtMs.push(bench.nowMs);
  };
  for (let i = 0; i < 400; i += 1) {
    bench.read('10.0.0.1', `${i}`, { stepMs: 0.5 });
    note();
  }
  expect(bench.done).toHaveLength(40);
  bench.runAll(note);
  expect(bench.done).toEqual(Array.from({ length: 400 }, (_, i) => `${i}`));
  // Half a millisecond each.
  const most = Math.max(...doneAtMs.map((since) => doneAtMs.filter((at) => at >= since && at < since + 100).length));
  expect(most * 0.5).toBeLessThanOrEqual(20);
  // And hardly less than it may: 200 ms of work.
  expect(bench.nowMs).toBeLessThan(1_300);
});

it('reading is done in steps, with pauses between them where one takes long', () => {
  bench.read('10.0.0.1', 'long', { steps: 10, stepMs: 5 });
  expect([bench.done, bench.share.waitingBytes]).toEqual([[], KB]);
  bench.runAll();
  expect([bench.nowMs > 200, bench.done, bench.share.waitingBytes]).toEqual([true, ['long'], 0]);
});

it('reading of one address keeps its order, and does not delay that of others', () => {
  for (let i = 0; i < 100; i += 1) bench.read('10.0.0.1', `a${i}`, { stepMs: 3 });
  // Seven of the first one's have been read at once.
  for (let i = 0; i < 20; i += 1) bench.read('10.0.0.2', `b${i}`, { stepMs: 0.01 });
  bench.runAll();
  const ofA = bench.done.filter((name) => name.startsWith('a'));
  expect(ofA).toEqual(Array.from({ length: 100 }, (_, i) => `a${i}`));
  // One step of each in turn.
  expect(bench.done.indexOf('b19')).toBeLessThanOrEqual(7 + 2 * 20);
});

it('reading of one address waits up to 4 MiB', () => {
  bench.read('10.0.0.1', 'first', { stepMs: 20 });
  for (let i = 0; i < 6; i += 1) bench.read('10.0.0.1', `${i}`, { bytes: 1_024 * KB });
  bench.read('10.0.0.2', 'other', { bytes: 1_024 * KB });
  expect(bench.done).toEqual(['first', '4 given up', '5 given up']);
  expect(bench.share.waitingBytes).toBe(5 * 1_024 * KB);
  // All together have 8 MiB: a client that has little waiting still has room, and the others have not.
  bench.read('10.0.0.2', 'much', { bytes: 3 * 1_024 * KB });
  bench.read('10.0.0.2', 'more');
  bench.read('10.0.0.3', 'little', { bytes: 60 * KB });
  bench.read('10.0.0.3', 'a little', { bytes: 60 * KB });
  bench.read('10.0.0.3', 'too much', { bytes: KB });
  expect(bench.done.slice(3)).toEqual(['more given up', 'too much given up']);
  bench.share.finish();
  expect([bench.done.length, bench.share.waitingBytes]).toEqual([13, 0]);
});

it('reading that waits leaves no room for endless ends of exchanges: each counts', () => {
  bench.read('10.0.0.1', 'first', { stepMs: 20 });
  bench.read('10.0.0.1', 'second');
  const client = () => '10.0.0.1';
  for (let i = 0; i < 2_048; i += 1) bench.share.runAfter(client, () => undefined);
  expect(bench.share.waitingBytes).toBeGreaterThanOrEqual(4 * KB * KB);
  expect(bench.share.hasRoom(client)).toBe(false);
  bench.runAll();
  expect(bench.share.waitingBytes).toBe(0);
});

it('reading that throws is over: its caller gets the error at once, onFailure later', () => {
  expect(() => bench.read('10.0.0.1', 'now', { fails: true })).toThrow('now');
  bench.read('10.0.0.1', 'first', { stepMs: 20 });
  bench.read('10.0.0.1', 'later', { fails: true });
  bench.read('10.0.0.1', 'last');
  bench.runAll();
  expect([bench.done, bench.failures.map(String)]).toEqual([['first', 'last'], ['Error: later']]);
});

it('reading is done when numbers are asked for, within its time', () => {
  bench.read('10.0.0.1', 'first', { stepMs: 20 });
  for (let i = 0; i < 10; i += 1) bench.read(`10.0.0.${i % 2}`, `${i}`, { stepMs: 3 });
  bench.share.catchUp(10 * NS_PER_MS);
  expect(bench.done).toHaveLength(5);
  // Not again at once.
  bench.share.catchUp(10 * NS_PER_MS);
  expect(bench.done).toHaveLength(5);
  bench.clock.advanceMs(110);
  bench.share.catchUp(100 * NS_PER_MS);
  expect([bench.done.length, bench.share.waitingBytes]).toEqual([11, 0]);
  bench.runAll();
  expect(bench.done).toHaveLength(11);
});

it('reading tells up to when all has been read: to the oldest that waits, and at most a minute back', () => {
  const readUpToMs = () => bench.share.readUpToNs / NS_PER_MS;
  bench.read('10.0.0.1', 'first', { stepMs: 20 });
  expect(readUpToMs()).toBe(20);
  bench.read('10.0.0.1', 'second');
  bench.clock.advanceMs(10);
  expect(readUpToMs()).toBe(20);
  bench.clock.advanceMs(60_000);
  expect(readUpToMs()).toBe(30);
});
