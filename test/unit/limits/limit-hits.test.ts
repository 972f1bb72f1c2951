import { expect, it } from 'vitest';
import { LimitHits } from '../../../src/limits/limit-hits.ts';
import { ManualClock } from '../../support/clock.ts';
import { recordingLogger } from '../../support/wire/recording-logger.ts';

function started() {
  const { logger, logged } = recordingLogger();
  const clock = new ManualClock();
  return { hits: new LimitHits(clock, logger), logged, clock };
}

it('counts each limit from zero, logs the first hit at once, and then every ten seconds at most, for each limit', () => {
  const { hits, logged, clock } = started();
  expect(new Set(hits.counts.values())).toEqual(new Set([0]));
  for (let i = 0; i < 100; i += 1) hits.hit('limits.inFlight');
  hits.hit('limits.fields');
  const first = logged.map(({ details: { limit, hits } }) => `${limit} ${hits}`);
  expect(first).toEqual(['limits.inFlight 1', 'limits.fields 1']);
  const counted = [...hits.counts].filter(([, count]) => count > 0);
  expect(Object.fromEntries(counted)).toEqual({ 'limits.inFlight': 100, 'limits.fields': 1 });
  clock.advanceS(9.9);
  hits.hit('limits.inFlight');
  expect(logged).toHaveLength(2);
  clock.advanceS(0.1);
  hits.hit('limits.inFlight');
  const message = expect.stringMatching(/^limits\.inFlight: /);
  expect(logged.slice(2)).toEqual([{ level: 'warn', details: { limit: 'limits.inFlight', hits: 102 }, message }]);
});

it('does not log limits that are reached every day', () => {
  const { hits, logged } = started();
  hits.hit('timeouts.idle');
  hits.hit('timeouts.halfClosed');
  hits.hit('monitor.idleTimeout');
  expect(logged).toEqual([]);
});
