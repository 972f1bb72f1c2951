import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { findServiceManager, type Notify } from '../../../src/cli/service-manager.ts';
import { NotingLogger } from '../../support/cli/control/stand.ts';

let log: NotingLogger;
let told: string[];
let answer: Notify;
beforeEach(() => {
  vi.useFakeTimers();
  log = new NotingLogger();
  told = [];
  answer = () => Promise.resolve();
});
afterEach(() => vi.useRealTimers());

const find = (env: Record<string, string>) =>
  findServiceManager(env, log.logger, (lines) => {
    told.push(lines.join(' '));
    return answer(lines);
  });

/** Of a manager that asks for a sign of life each minute. */
const WATCHED = { NOTIFY_SOCKET: '/run/notify', WATCHDOG_USEC: '60000000', WATCHDOG_PID: String(process.pid) };
const BOUND = { listen: '0.0.0.0:8081', monitor: '127.0.0.1:9280' };
const READY = 'READY=1 STATUS=serving on 0.0.0.0:8081, monitor on 127.0.0.1:9280';

it('a service manager is notified of readiness, draining and the stop, in this order and once', async () => {
  const manager = find({ NOTIFY_SOCKET: '/run/notify' });
  manager?.ready(BOUND);
  manager?.draining();
  manager?.stopping(25_000);
  manager?.stopping(25_000);
  await vi.advanceTimersByTimeAsync(1);
  expect(told).toEqual([
    READY,
    'STATUS=draining: no longer ready, still serving',
    'STOPPING=1 EXTEND_TIMEOUT_USEC=35000000 STATUS=stopping',
  ]);
});

it('a service manager gets two pings in each period until the end', async () => {
  const manager = find(WATCHED);
  manager?.ready(BOUND);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(told).toEqual([READY, 'WATCHDOG=1', 'WATCHDOG=1']);
  manager?.dispose();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(told).toHaveLength(3);
});

it('a service manager that cannot be notified is logged once until it works again', async () => {
  const manager = find(WATCHED);
  answer = () => Promise.reject(Object.assign(new Error('spawn'), { code: 'ENOENT' }));
  manager?.ready(BOUND);
  await vi.advanceTimersByTimeAsync(120_000);
  expect(log.lines).toEqual(['warn systemd-notify cannot notify the service manager']);
  answer = () => Promise.resolve();
  await vi.advanceTimersByTimeAsync(30_000);
  answer = () => Promise.reject(new Error());
  await vi.advanceTimersByTimeAsync(30_000);
  expect(log.lines).toHaveLength(2);
  manager?.dispose();
});
