import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { beforeEach, expect, it, vi } from 'vitest';
import { MemoryBudget } from '../../../../src/limits/memory-budget.ts';
import { StalledWrites } from '../../../../src/limits/stalled-writes.ts';
import { AddedTime } from '../../../../src/proxy/exchange/exchange-reporter.ts';
import { SocketWriter, WriteBatch } from '../../../../src/proxy/relay/write-batch.ts';

let written: string[];
let measured: number[];
let batch: WriteBatch;

beforeEach(() => {
  written = [];
  measured = [];
  batch = new WriteBatch();
});

/** Notes in `written`, in order, what is written to all sockets. */
class FakeSocket extends EventEmitter {
  destroyed = false;

  destroy(): void {
    this.destroyed = true;
  }

  write(text: string, encoding: string): boolean {
    written.push(`${text} ${encoding}`);
    return true;
  }
}

const socket = () => new FakeSocket() as unknown as Socket;
const clock = { nowNs: () => 1_000, epochMs: () => 0 };
const added = new AddedTime(clock, (addedNs) => {
  expect(written.length).toBeGreaterThan(0);
  measured.push(addedNs);
});
const onFull = vi.fn();
const writer = (to = socket()) => {
  const owner = { onFull, onStalledTooLong: () => undefined };
  return new SocketWriter(to, { writes: batch, stalled: new StalledWrites(new MemoryBudget(), clock) }, added, owner);
};
const turnEnd = () => new Promise((resolve) => setImmediate(resolve));

it('writes of one turn are done at its end, in their order, as latin1', async () => {
  writer().writeSoon('a');
  writer().writeSoon('b');
  expect(written).toEqual([]);
  await turnEnd();
  expect(written).toEqual(['a latin1', 'b latin1']);
});

it('writes of one turn wait for 63 others at most', () => {
  for (let i = 0; i < 63; i += 1) writer().writeSoon(`${i}`);
  expect(written).toHaveLength(0);
  writer().writeSoon('last');
  expect([written.length, written.at(-1)]).toEqual([64, 'last latin1']);
});

it('one direction keeps its order when a second text comes in the same turn, and is written at once by flush', async () => {
  const one = writer();
  one.writeSoon('a');
  one.writeSoon('b');
  expect(written).toEqual(['a latin1']);
  one.flush();
  expect(written).toEqual(['a latin1', 'b latin1']);
  await turnEnd();
  expect(written).toEqual(['a latin1', 'b latin1']);
});

it('one direction writes nothing to a socket that is gone, or when it is cleared, and measures nothing then', async () => {
  const to = socket();
  const [gone, cleared] = [writer(to), writer()];
  gone.writeSoon('a', 400);
  to.destroy();
  cleared.writeSoon('b', 400);
  cleared.clear();
  await turnEnd();
  expect(written).toEqual([]);
  cleared.writeSoon('c');
  await turnEnd();
  expect([written, measured]).toEqual([['c latin1'], []]);
});

it('one direction reports a full socket', async () => {
  const full = Object.assign(socket(), { write: () => false });
  for (const to of [socket(), full]) {
    expect(onFull).not.toHaveBeenCalled();
    writer(to).writeSoon('a');
    await turnEnd();
  }
  expect(onFull).toHaveBeenCalledTimes(1);
});
