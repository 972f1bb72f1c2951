import { expect, it } from 'vitest';
import { NS_PER_S } from '../../../src/base/clock.ts';
import { LimitHits } from '../../../src/limits/limit-hits.ts';
import { recordingLogger } from '../../support/wire/recording-logger.ts';

function started() {
  const { logger, logged } = recordingLogger();
  let seconds = 0;
  const hits = new LimitHits({ nowNs: () => seconds * NS_PER_S, epochMs: () => 0 }, logger);
  return { hits, logged, at: (time: number) => (seconds = time) };
}

it('counts each limit, and knows all of them from the start', () => {
  const { hits } = started();
  expect(new Set(hits.counts.values())).toEqual(new Set([0]));
  hits.hit('limits.fields');
  hits.hit('limits.fields');
  hits.hit('timeouts.idle');
  const counted = [...hits.counts].filter(([, count]) => count > 0);
  expect(Object.fromEntries(counted)).toEqual({ 'limits.fields': 2, 'timeouts.idle': 1 });
});

it('logs the first hit at once, and then every ten seconds at most, for each limit', () => {
  const { hits, logged, at } = started();
  for (let i = 0; i < 100; i += 1) hits.hit('limits.inFlight');
  hits.hit('limits.fields');
  const first = logged.map(({ details: { limit, hits } }) => `${limit} ${hits}`);
  expect(first).toEqual(['limits.inFlight 1', 'limits.fields 1']);
  at(9.9);
  hits.hit('limits.inFlight');
  expect(logged).toHaveLength(2);
  at(10);
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
