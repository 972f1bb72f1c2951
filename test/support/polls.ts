import { expect, vi } from 'vitest';
import type { FileWatch } from '../../src/base/file-watch.ts';

/** The files are polled every two seconds between `watch`, which may be called again, and `close`. */
export function expectPolls(watched: FileWatch): void {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const poll = vi.spyOn(watched, 'poll').mockResolvedValue();
  const pollsIn = (ms: number) => {
    poll.mockClear();
    vi.advanceTimersByTime(ms);
    return poll.mock.calls.length;
  };
  try {
    expect(pollsIn(4_000)).toBe(0);
    watched.watch();
    watched.watch();
    expect([pollsIn(1_999), pollsIn(1), pollsIn(2_000)]).toEqual([0, 1, 1]);
    watched.close();
    expect(pollsIn(4_000)).toBe(0);
  } finally {
    poll.mockRestore();
    vi.useRealTimers();
  }
}
