import { expect, it } from 'vitest';
import { type ClosableConnection, QuietConnections } from '../../../../src/proxy/listener/listener-end.ts';

class Connection implements ClosableConnection {
  isIdle = true;
  bytesRead = 0;
  isClosed = false;

  closeIfIdle(): void {
    this.isClosed = true;
  }
}

let nowMs = 0;
const clock = { nowNs: () => nowMs * 1e6, epochMs: () => 0 };

function look(quiet: QuietConnections, atMs: number, ...connections: readonly Connection[]): void {
  nowMs = atMs;
  quiet.sample(connections);
}

function close(quiet: QuietConnections, atMs: number, ...connections: readonly Connection[]): readonly boolean[] {
  nowMs = atMs;
  quiet.close(connections, 1_000);
  return connections.map(({ isClosed }) => isClosed);
}

it('closes connections that have been idle for long enough since the first look', () => {
  const quiet = new QuietConnections(clock);
  const [early, late] = [new Connection(), new Connection()];
  look(quiet, 0, early);
  look(quiet, 600, early, late);
  expect(close(quiet, 999, early, late)).toEqual([false, false]);
  expect(close(quiet, 1_000, early, late)).toEqual([true, false]);
  expect(close(quiet, 1_600, early, late)).toEqual([true, true]);
});

it('restarts the count with each byte, and at the end of a request', () => {
  const quiet = new QuietConnections(clock);
  const [asking, answered] = [new Connection(), new Connection()];
  answered.isIdle = false;
  look(quiet, 0, asking, answered);
  asking.bytesRead += 1;
  look(quiet, 900, asking, answered);
  answered.isIdle = true;
  expect(close(quiet, 1_500, asking, answered)).toEqual([false, false]);
  expect(close(quiet, 1_900, asking, answered)).toEqual([true, true]);
});
