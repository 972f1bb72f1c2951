import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type Clock, NS_PER_MS } from '../../../../src/base/clock.ts';
import { MemoryBudget } from '../../../../src/limits/memory-budget.ts';
import { StalledWrites } from '../../../../src/limits/stalled-writes.ts';
import { AddedTime } from '../../../../src/proxy/exchange/exchange-reporter.ts';
import type { RelayServices } from '../../../../src/proxy/relay/client-link.ts';
import { ClientLink } from '../../../../src/proxy/relay/client-link.ts';
import { SilenceWatch } from '../../../../src/proxy/relay/silence-watch.ts';
import { UpstreamLink } from '../../../../src/proxy/relay/upstream-link.ts';
import { WriteBatch } from '../../../../src/proxy/relay/write-batch.ts';

/** A socket's timer as Node keeps it: each read and write sets it anew. */
class FakeSocket extends EventEmitter {
  readonly writableLength = 0;
  timeoutMs = 0;
  readonly timersSet: number[] = [];

  setTimeout(timeoutMs: number): void {
    this.timeoutMs = timeoutMs;
    this.timersSet.push(timeoutMs);
  }

  connecting = true;
  keptAlive = 0;

  setKeepAlive(): void {
    this.keptAlive += 1;
  }

  write(): boolean {
    return true;
  }
}

const clock: Clock = { nowNs: () => Date.now() * NS_PER_MS, epochMs: () => Date.now() };

function setUp(idleTimeoutMs: number) {
  const options = { idleTimeoutMs, halfClosedTimeoutMs: 70_000 };
  const added = new AddedTime(clock, () => undefined);
  const reporter = { added: { request: added, response: added } };
  const stalled = new StalledWrites(new MemoryBudget(), clock);
  const parts = { options, reporter, stalled, writes: new WriteBatch(), silence: new SilenceWatch() };
  const services = parts as unknown as RelayServices;
  const listener = {
    canBeSilent: false,
    onClientBytes: () => undefined,
    onClientDrain: () => undefined,
    onCheck: () => undefined,
    onClientClosed: () => undefined,
  };
  const connect = () => {
    const socket = new FakeSocket();
    const link = new ClientLink(socket as unknown as Socket, undefined, listener as never, services);
    return { socket, link };
  };
  return { connect, options, services };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it.each([
  ['from its beginning', 0, 60_000, 5_000],
  ['in a short time', 777, 150, 38],
])(
  'a connection that is silent %s ends when it has been so for long enough, and hardly later',
  (_, lastMoveMs, idleMs, lateMs) => {
    const { socket } = setUp(idleMs).connect();
    const beganMs = Date.now();
    while (Date.now() < beganMs + lastMoveMs) {
      vi.advanceTimersByTime(1);
      socket.emit('data', Buffer.from('x'));
    }
    const silentSinceMs = Date.now();
    while (socket.timeoutMs === 0) vi.advanceTimersByTime(1);
    const endsAfterMs = Date.now() + socket.timeoutMs - silentSinceMs;
    expect(endsAfterMs).toBeGreaterThanOrEqual(idleMs);
    expect(endsAfterMs).toBeLessThanOrEqual(idleMs + lateMs);
  },
);

it('a connection loses its timer when something moves on it again', () => {
  const { socket, link } = setUp(60_000).connect();
  vi.advanceTimersByTime(20_000);
  expect(socket.timersSet).toEqual([0, 55_000]);
  link.write(Buffer.from('x'));
  vi.advanceTimersByTime(5_000);
  expect(socket.timersSet).toEqual([0, 55_000, 0]);
  socket.emit('drain');
  vi.advanceTimersByTime(5_000);
  expect(socket.timersSet).toEqual([0, 55_000, 0]);
});

it('a connection whose client has closed its side keeps the half-closed timeout', () => {
  const { socket, link } = setUp(60_000).connect();
  link.limitHalfClosed();
  vi.advanceTimersByTime(30_000);
  link.writeSoon('x');
  vi.advanceTimersByTime(30_000);
  expect(socket.timersSet).toEqual([0, 70_000]);
});

it('a connection can be silent for ever without a limit, and gets the limit of a reload', () => {
  const { connect, options } = setUp(0);
  const { socket } = connect();
  vi.advanceTimersByTime(3_600_000);
  expect(socket.timeoutMs).toBe(0);
  options.idleTimeoutMs = 60_000;
  vi.advanceTimersByTime(5_000);
  expect(socket.timeoutMs).toBe(55_000);
});

it.each(['closed', 'given away'])('a connection that was %s is not looked at', (how) => {
  const { socket, link } = setUp(60_000).connect();
  if (how === 'closed') socket.emit('close');
  else link.detach();
  socket.timersSet.length = 0;
  vi.advanceTimersByTime(60_000);
  expect(socket.timersSet).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

it('TCP keep-alive of the upstream is set once, and only when it is connected: a connect may change its handle', () => {
  const { services } = setUp(60_000);
  const socket = new FakeSocket();
  const upstream = { connect: () => ({ socket }) };
  const link = new UpstreamLink({ ...services, upstream } as never, {} as never, {} as never, {} as never);
  link.send('x');
  link.check();
  expect(socket.keptAlive).toBe(0);
  socket.connecting = false;
  for (let i = 0; i < 2; i += 1) link.check();
  expect(socket.keptAlive).toBe(1);
});
