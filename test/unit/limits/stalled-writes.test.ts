import { beforeEach, describe, expect, it } from 'vitest';
import { MemoryBudget } from '../../../src/limits/memory-budget.ts';
import {
  QUEUED_WRITE_BYTES,
  QueuedWrites,
  StalledWrites,
  type StallingConnection,
} from '../../../src/limits/stalled-writes.ts';
import { ManualClock } from '../../support/clock.ts';

class Connection implements StallingConnection {
  stalledBytes: number;
  sentBytes = 0;
  isReset = false;

  constructor(stalledBytes: number) {
    this.stalledBytes = stalledBytes;
  }

  onStalledTooLong(): void {
    this.isReset = true;
  }
}

/** Half of it is for stalled writes: 100 bytes. */
const MEMORY_BYTES = 200;
let clock: ManualClock;
let budget: MemoryBudget;
let stalled: StalledWrites;

beforeEach(() => {
  clock = new ManualClock();
  budget = new MemoryBudget(MEMORY_BYTES);
  stalled = new StalledWrites(budget, clock);
});

/** That many connections with 10 bytes each stall, one after another. */
function stall(count: number, everyMs = 0): Connection[] {
  return Array.from({ length: count }, () => {
    const connection = new Connection(10);
    stalled.check(connection);
    clock.advanceMs(everyMs);
    return connection;
  });
}

const resets = (connections: readonly Connection[]): number => connections.filter(({ isReset }) => isReset).length;

it('charges a connection while its writes wait, until it closes', () => {
  const [connection] = stall(1) as [Connection];
  connection.stalledBytes = 30;
  stalled.check(connection);
  expect([budget.used.stalled, stalled.size]).toEqual([30, 1]);
  connection.stalledBytes = 0;
  stalled.check(connection);
  expect([budget.used.stalled, stalled.size]).toEqual([0, 0]);
  connection.stalledBytes = 10;
  stalled.check(connection);
  for (let times = 0; times < 2; times += 1) stalled.remove(connection);
  expect(budget.used.stalled).toBe(0);
});

it('resets the one that has been stalled for longest beyond the share', () => {
  const connections = stall(10, 600);
  expect([resets(connections), budget.refusals.stalled]).toEqual([0, 0]);
  stall(1);
  expect(connections.map(({ isReset }) => isReset)).toEqual([true, ...Array(9).fill(false)]);
  expect([budget.used.stalled, budget.refusals.stalled]).toEqual([100, 1]);
});

it('resets none that is younger than the minimum age', () => {
  const connections = stall(11, 400);
  expect(resets(connections)).toBe(0);
});

it('lowers the minimum age as the excess grows', () => {
  // At 2.5 times the bound half of the 5 s are left.
  const old = stall(12);
  clock.advanceMs(2_600);
  stall(12);
  expect(resets(old)).toBe(0);
  stall(2);
  expect(resets(old)).toBeGreaterThan(0);
});

it('never holds more than four times the share', () => {
  stall(200);
  expect(budget.used.stalled).toBeLessThanOrEqual(400);
});

it('spares a slow reader, who takes bytes again and again', () => {
  const reader = new Connection(10);
  const connections: Connection[] = [];
  for (let i = 0; i < 500; i += 1) {
    reader.sentBytes += 1;
    stalled.check(reader);
    connections.push(...stall(1, 100));
  }
  expect(reader.isReset).toBe(false);
  expect(resets(connections)).toBeGreaterThan(400);
});

it('sees bytes that were taken without a call', () => {
  const connections = stall(10, 1_000);
  const [emptied, moved, oldest] = connections as [Connection, Connection, Connection];
  emptied.stalledBytes = 0;
  moved.sentBytes = 1;
  stall(2);
  expect([emptied.isReset, moved.isReset, oldest.isReset]).toEqual([false, false, true]);
});

describe('queued writes of a socket', () => {
  const socket = { destroyed: false, bytesWritten: 0, writableLength: 0 };
  let queued: QueuedWrites;

  beforeEach(() => {
    Object.assign(socket, { destroyed: false, bytesWritten: 0, writableLength: 0 });
    queued = new QueuedWrites(socket, stalled, 1_000, { onStalledTooLong: () => undefined });
  });

  /** Writes `count` times, of which the socket takes nothing. */
  function write(count: number, bytes: number): void {
    for (let i = 0; i < count; i += 1) {
      socket.bytesWritten += bytes;
      socket.writableLength += bytes;
      queued.wrote();
    }
  }

  it('are charged a price each, but not for more than the bytes that wait, until the queue is empty', () => {
    write(50, 6);
    expect([queued.stalledBytes, queued.sentBytes]).toEqual([50 * (6 + QUEUED_WRITE_BYTES), 0]);
    socket.writableLength = 10;
    expect([queued.stalledBytes, queued.sentBytes]).toEqual([10 * (1 + QUEUED_WRITE_BYTES), 290]);
    socket.writableLength = 300;
    queued.check();
    expect(budget.used.stalled).toBe(50 * (6 + QUEUED_WRITE_BYTES));
    socket.writableLength = 0;
    queued.check();
    expect(budget.used.stalled).toBe(0);
    queued.wrote();
    write(1, 6);
    expect(queued.stalledBytes).toBe(6 + QUEUED_WRITE_BYTES);
    socket.destroyed = true;
    expect(queued.stalledBytes).toBe(0);
  });

  it('are charged with what the paused side holds, from the size that pauses it', () => {
    write(1, 16_383);
    expect(queued.stalledBytes).toBe(16_383 + QUEUED_WRITE_BYTES);
    write(1, 1);
    expect(queued.stalledBytes).toBe(16_384 + 2 * QUEUED_WRITE_BYTES + 1_000);
  });
});
